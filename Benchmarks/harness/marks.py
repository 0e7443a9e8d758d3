"""Comparisons of measured values with their targets."""


def at_most(what, value, limit, unit):
    return {"what": what, "value": value, "limit": limit, "unit": unit, "sense": "≤", "is_met": value <= limit}


def at_least(what, value, limit, unit):
    return {"what": what, "value": value, "limit": limit, "unit": unit, "sense": "≥", "is_met": value >= limit}
