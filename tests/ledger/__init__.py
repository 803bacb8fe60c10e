"""The ledger: spool, money, net saving and its SQL."""
