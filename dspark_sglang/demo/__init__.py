"""The main job on one machine: model, servers, demonstration, proof of losslessness, benchmark."""
