"""Signing and verifying: keys, bundles, key sets, refs, the keyless path, and hostile input."""
