"""`make bench-accept`: how many tokens a round each drafter is worth, by reference and engine."""
