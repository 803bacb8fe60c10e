"""A whole region from one seed: the simulated cloud, its world, and replays of recorded reclamations."""
