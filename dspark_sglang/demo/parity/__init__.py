"""`make verify-parity`: does the engine draft, score and accept exactly as the reference does?"""
