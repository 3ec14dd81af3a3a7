"""Hardware platforms of the project, each one an `sglang.srt.platforms` entry point."""
