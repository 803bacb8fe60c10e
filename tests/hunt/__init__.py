"""The hunt for failing histories: shrinking, transcripts, the command, the mutations."""
