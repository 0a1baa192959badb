"""A line search for the strong Wolfe conditions: bracketing, then cubic interpolation."""

from __future__ import annotations


def cubic_interpolate(x1, f1, g1, x2, f2, g2, bounds=None):
    """The minimum within `bounds` of the cubic through two points with given slopes."""
    low, high = bounds if bounds is not None else (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square**0.5
    if x1 <= x2:
        best = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        best = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(best, low), high)


class _Point:
    """A point on the line: position, loss, gradient and slope."""

    __slots__ = ("f", "g", "gtd", "t")

    def __init__(self, t, f, g, gtd):
        self.t, self.f, self.g, self.gtd = t, f, g, gtd


def strong_wolfe(evaluate, t, d, f, g, gtd, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """Searches along `d` from a point with loss `f`, gradient `g` and slope `gtd`.

    Args:
        evaluate: `evaluate(t, d)` returns loss and gradient at distance `t`.
        t: the first distance tried.

    Returns loss, gradient, distance and the number of evaluations.
    """
    search = _Search(evaluate, d, _Point(0, f, g.clone(), gtd), c1, c2, tolerance_change)
    bracket, iterations, done = search.bracket(t, max_ls)
    if not done:
        bracket = search.zoom(bracket, iterations, max_ls)
    best = bracket[0] if len(bracket) == 1 or bracket[0].f <= bracket[1].f else bracket[1]
    return best.f, best.g, best.t, search.evaluations


class _Search:
    def __init__(self, evaluate, d, start, c1, c2, tolerance_change):
        self.evaluate, self.d, self.start = evaluate, d, start
        self.c1, self.c2, self.tolerance = c1, c2, tolerance_change
        self.d_norm = d.abs().max()
        self.evaluations = 0

    def at(self, t):
        self.evaluations += 1
        f, g = self.evaluate(t, self.d)
        return _Point(t, f, g.clone(), g.dot(self.d))

    def too_high(self, point):
        return point.f > self.start.f + self.c1 * point.t * self.start.gtd

    def flat_enough(self, point):
        return abs(point.gtd) <= -self.c2 * self.start.gtd

    def bracket(self, t, max_ls):
        """Extends until an interval contains a point that satisfies the conditions."""
        previous, point = self.start, self.at(t)
        iterations = 0
        while iterations < max_ls:
            if self.too_high(point) or (iterations > 1 and point.f >= previous.f):
                return [previous, point], iterations, False
            if self.flat_enough(point):
                return [point], iterations, True
            if point.gtd >= 0:
                return [previous, point], iterations, False
            low = point.t + 0.01 * (point.t - previous.t)
            t = cubic_interpolate(
                previous.t,
                previous.f,
                previous.gtd,
                point.t,
                point.f,
                point.gtd,
                bounds=(low, point.t * 10),
            )
            previous, point = point, self.at(t)
            iterations += 1
        return [self.start, point], iterations, False

    def zoom(self, bracket, iterations, max_ls):
        """Shrinks the interval until a point in it satisfies both conditions."""
        slow = False
        low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
        while iterations < max_ls:
            a, b = bracket
            if abs(b.t - a.t) * self.d_norm < self.tolerance:
                break
            t = cubic_interpolate(a.t, a.f, a.gtd, b.t, b.f, b.gtd)
            t, slow = _keep_inside(t, a.t, b.t, slow)
            point = self.at(t)
            iterations += 1
            if self.too_high(point) or point.f >= bracket[low].f:
                bracket[high] = point
                low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
                continue
            done = self.flat_enough(point)
            if not done and point.gtd * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = point
            if done:
                break
        return bracket


def _keep_inside(t, end1, end2, slow):
    """Moves a point off the ends of the interval when it came too close twice in a row."""
    low, high = min(end1, end2), max(end1, end2)
    margin = 0.1 * (high - low)
    if min(high - t, t - low) >= margin:
        return t, False
    if slow or t >= high or t <= low:
        t = high - margin if abs(t - high) < abs(t - low) else low + margin
        return t, False
    return t, True
