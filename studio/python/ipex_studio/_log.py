"""The package's logger: what a user should know and nothing depends on."""
import logging

logger = logging.getLogger("ipex_studio")
