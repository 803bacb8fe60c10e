"""The node's drain: deadlines, the state machine, its journal and its transcripts."""
