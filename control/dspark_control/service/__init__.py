"""The control service: gRPC in front of the store, and the streams to the workers."""
