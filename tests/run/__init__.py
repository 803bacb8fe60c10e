"""`ebbtide run` as a process: the sandbox behind its socket, the loop, what is left on disk, and what survives a kill."""
