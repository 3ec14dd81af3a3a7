"""An autoregressive baseline in the manner of EAGLE-3, trained on the same data as DSpark.

The paper compares DSpark with it (Table 1), so it is trained and measured by the same trainer:
`config`, `layer`, `draft`, `trainee`, `initial` and the file format `checkpoint`. Source: Li et
al., "EAGLE-3: Scaling up Inference Acceleration of LLMs via Training-Time Test".
"""
