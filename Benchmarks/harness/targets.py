"""Comparisons of measured values with their targets."""


def at_most(name, value, limit, unit):
    return {"name": name, "value": value, "limit": limit, "unit": unit, "comparison": "≤", "is_met": value <= limit}


def at_least(name, value, limit, unit):
    return {"name": name, "value": value, "limit": limit, "unit": unit, "comparison": "≥", "is_met": value >= limit}
