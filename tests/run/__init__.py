"""`ebbtide run` as a process: the sandbox behind its socket, the loop, what lies on disk, and what survives a kill."""
