"""The sample networks: each module here registers some; `registry.NETWORKS` knows them all once they are imported."""
