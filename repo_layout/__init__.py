"""The shape of the reviewed repository: layout, loading, feasibility across files."""
