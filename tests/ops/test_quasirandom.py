"""Sobol points: PyTorch's, digit for digit."""

import doctest

import pytest

import flambeau
from flambeau.quasirandom import SobolEngine

# Recorded from PyTorch 2.13.0: the sum of the first nine points, the last coordinate of four points
# after five more, and the state's last coordinate then.
RECORDED = {
    3: (11.9375, [0.0625, 0.5625, 0.46875, 0.96875], 1040187392),
    7: (27.6875, [0.3125, 0.8125, 0.53125, 0.03125], 33554432),
    1111: (4446.5625, [0.4375, 0.9375, 0.40625, 0.90625], 973078528),
    21201: (84783.5625, [0.1875, 0.6875, 0.78125, 0.28125], 301989888),
}
# Seed 5, three dimensions: the shift, the 17th point, and the first two.
SCRAMBLED = [
    [515708045, 125905764, 133132919],
    [0.41479602456092834, 0.4482189118862152, 0.3814912736415863],
    [
        [0.4802905321121216, 0.11725887656211853, 0.12398969382047653],
        [0.9114733934402466, 0.8686649799346924, 0.5390787124633789],
    ],
]


@pytest.mark.parametrize("dimension", RECORDED)
def test_points_are_pytorchs(dimension):
    total, later, state = RECORDED[dimension]
    engine = SobolEngine(dimension)
    assert engine.draw(9).double().sum().item() == total
    assert engine.fast_forward(5) is engine
    points = engine.draw(4, dtype=flambeau.float64)
    assert points.dtype is flambeau.float64
    assert points[:, -1].tolist() == later
    assert engine.quasi[-1].item() == state
    assert engine.num_generated == 18


def test_scrambling_is_pytorchs():
    engine = SobolEngine(3, scramble=True, seed=5)
    assert engine.shift.tolist() == SCRAMBLED[0]
    assert engine.draw(17)[-1].tolist() == SCRAMBLED[1]
    assert engine.reset().draw(2).tolist() == SCRAMBLED[2]
    assert repr(engine) == "SobolEngine(dimension=3, scramble=True, seed=5)"
    flambeau.manual_seed(7)
    engine = SobolEngine(2, scramble=True)
    assert flambeau.rand(1).item() != 0.5349225401878357  # of PyTorch without a scrambling between
    flambeau.manual_seed(7)
    SobolEngine(3, scramble=True, seed=5)
    assert flambeau.rand(1).item() == pytest.approx(0.5349225401878357, rel=1e-6)


def test_points_do_not_depend_on_how_they_are_drawn():
    for scramble in (False, True):
        whole = SobolEngine(5, scramble, seed=1).draw(200)
        for sizes in ([1] * 40, [3, 5, 8, 64, 1, 100, 19], [200], [0 + 7, 64, 64, 65]):
            engine = SobolEngine(5, scramble, seed=1)
            parts = flambeau.cat([engine.draw(n) for n in sizes])
            assert flambeau.equal(parts, whole[: len(parts)])
        for skipped in (1, 4, 63, 64, 101):
            engine = SobolEngine(5, scramble, seed=1).fast_forward(skipped)
            assert flambeau.equal(engine.draw(50), whole[skipped : skipped + 50])


def test_each_half_of_every_axis_gets_as_many_points():
    for dimension in (1, 2, 30):
        points = SobolEngine(dimension, scramble=True, seed=0).draw_base2(6)
        for parts in (2, 8, 64):
            counts = [((points * parts).long() == k).sum(0) for k in range(parts)]
            assert all((c == 64 // parts).all() for c in counts)


def test_out_and_errors():
    out = flambeau.empty(0)
    assert SobolEngine(2).draw(2, out=out) is out
    assert out.tolist() == [[0.0, 0.0], [0.5, 0.5]]
    engine = SobolEngine(3)
    engine.draw(3)
    assert engine.draw(0).shape == (0, 3)
    with pytest.raises(ValueError, match="power of 2"):
        engine.draw_base2(2)
    for dimension in (0, 21202):
        with pytest.raises(ValueError, match=r"\[1, 21201\]"):
            SobolEngine(dimension)
    for n in (0, -1):
        with pytest.raises(RuntimeError):
            SobolEngine(2).draw(n)
    with pytest.raises(NotImplementedError):
        SobolEngine(2).draw(2, dtype=flambeau.int64)


def test_example():
    runner = doctest.DocTestRunner(verbose=False)
    for test in doctest.DocTestFinder().find(SobolEngine, globs={"flambeau": flambeau}):
        runner.run(test)
    assert runner.tries == 2 and runner.failures == 0
