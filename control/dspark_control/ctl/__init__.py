"""The command line `dsparkctl`."""
