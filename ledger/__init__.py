"""Events with causes, the durable spool, and the net saving."""
