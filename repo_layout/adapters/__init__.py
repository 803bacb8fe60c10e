"""Git and CUE behind the reviewed repository."""
