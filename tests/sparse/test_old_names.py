"""Names of sparse products from before `sparse.mm`."""

import flambeau


def test_old_names():
    sparse, dense = flambeau.eye(2).to_sparse() * 3, flambeau.ones(2, 2)
    for product in (flambeau.dsmm, flambeau.spmm):
        assert product(sparse, dense).tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert flambeau.hsmm(sparse, dense).is_sparse
    total = flambeau.saddmm(sparse, sparse, dense)
    assert total.is_sparse and total.to_dense().tolist() == [[6.0, 3.0], [3.0, 6.0]]
