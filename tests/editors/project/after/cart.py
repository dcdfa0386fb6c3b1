"""The shopping cart."""

from prices import price_of

VAT = 19


def total(items):
    """The sum to pay, in cents, of (name, count) pairs."""
    total = 0
    for name, count in items:
        total += price_of(name) * count
    return total


def describe(items):
    """One line for the receipt."""
    return f"{len(items)} kinds of fruit"
