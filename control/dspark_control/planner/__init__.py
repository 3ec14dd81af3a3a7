"""Budget arithmetic of the verify scheduler, in numpy, for the step path."""

from dspark_control.planner.budget import BudgetDecision, BudgetPlanner
from dspark_control.planner.cost import CostModel

__all__ = ["BudgetDecision", "BudgetPlanner", "CostModel"]
