"""L-BFGS with an optional strong-Wolfe line search."""

from __future__ import annotations

from flambeau._C import ops
from flambeau.autograd import enable_grad, no_grad

from ._common import check_lr, to_scalar
from ._strong_wolfe import strong_wolfe
from .optimizer import Optimizer


class LBFGS(Optimizer):
    """L-BFGS: a quasi-Newton method that calls the closure several times in each step.

    Args:
        params: tensors; one group only.
        lr: step length, or its first guess for the line search.
        max_iter, max_eval: iterations and closure calls in one `step` (max_eval: 1.25 max_iter).
        tolerance_grad, tolerance_change: stop below these.
        history_size: number of updates that approximate the inverse Hessian.
        line_search_fn: None or "strong_wolfe".

    Keeps `history_size + 1` copies of all parameters.

    >>> w = flambeau.tensor([4.0], requires_grad=True)
    >>> optimizer = flambeau.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> float(optimizer.step(closure))
    9.0
    >>> w.detach()
    tensor([1.])
    """

    def __init__(
        self,
        params,
        lr=1,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-7,
        tolerance_change=1e-9,
        history_size=100,
        line_search_fn=None,
    ):
        check_lr(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError(
                "LBFGS doesn't support per-parameter options (parameter groups), "
                f"but got {len(self.param_groups)} groups"
            )
        self._params = self.param_groups[0]["params"]

    def _gather_flat_grad(self):
        views = []
        for p in self._params:
            if p.grad is None:
                view = ops.zeros(p.numel(), dtype=p.dtype, device=p.device)
            elif p.grad.is_sparse:
                view = p.grad.to_dense().reshape(-1)
            else:
                view = p.grad.reshape(-1)
            views.append(ops.view_as_real(view).reshape(-1) if view.is_complex() else view)
        return ops.cat(views, 0)

    def _add_direction(self, t, direction):
        offset, t = 0, to_scalar(t)
        for p in self._params:
            p = ops.view_as_real(p) if p.is_complex() else p
            count = p.numel()
            p.add_(direction[offset : offset + count].reshape(p.shape), alpha=t)
            offset += count

    def _clone_params(self):
        return [p.clone() for p in self._params]

    def _set_params(self, values):
        for p, value in zip(self._params, values):
            p.copy_(value)

    def _evaluate_at(self, closure, start, t, direction):
        """Loss and gradient at `start + t * direction`; the parameters end where they began."""
        self._add_direction(t, direction)
        loss = float(closure())
        flat_grad = self._gather_flat_grad()
        self._set_params(start)
        return loss, flat_grad

    @no_grad()
    def step(self, closure):
        """Runs up to `max_iter` iterations.

        Args:
            closure: clears the gradients, computes the loss, calls `backward`, returns the loss.

        Returns the loss before the step.
        """
        closure = enable_grad()(closure)
        group = self.param_groups[0]
        # State is kept under the first parameter, as a pseudo-parameter of them all.
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        run = _Run(float(first_loss), self._gather_flat_grad(), state)
        state["func_evals"] += 1
        if run.flat_grad.abs().max() <= group["tolerance_grad"]:
            return first_loss
        while run.iterations < group["max_iter"]:
            if self._iterate(closure, group, state, run):
                break
        state.update(
            d=run.d,
            t=run.t,
            old_dirs=run.old_dirs,
            old_stps=run.old_stps,
            ro=run.ro,
            H_diag=run.h_diag,
            prev_flat_grad=run.prev_flat_grad,
            prev_loss=run.prev_loss,
        )
        return first_loss

    def _iterate(self, closure, group, state, run):
        """One iteration: direction, step length, evaluation. Returns whether to stop."""
        lr = to_scalar(group["lr"])
        run.iterations += 1
        state["n_iter"] += 1
        if state["n_iter"] == 1:
            run.restart()
        else:
            run.update_history(group["history_size"])
            run.d = run.direction(state, group["history_size"])
        if run.prev_flat_grad is None:
            run.prev_flat_grad = run.flat_grad.clone()
        else:
            run.prev_flat_grad.copy_(run.flat_grad)
        run.prev_loss = run.loss
        first = state["n_iter"] == 1
        run.t = min(1.0, to_scalar(1.0 / run.flat_grad.abs().sum())) * lr if first else lr
        slope = run.flat_grad.dot(run.d)
        if slope > -group["tolerance_change"]:
            return True
        evaluations = self._move(closure, group, run, slope)
        run.evaluations += evaluations
        state["func_evals"] += evaluations
        return run.converged(group)

    def _move(self, closure, group, run, slope):
        """Moves along the direction and evaluates there; returns the number of evaluations."""
        if group["line_search_fn"] is not None:
            if group["line_search_fn"] != "strong_wolfe":
                raise RuntimeError("only 'strong_wolfe' is supported")
            start = self._clone_params()

            def evaluate(t, direction):
                return self._evaluate_at(closure, start, t, direction)

            run.loss, run.flat_grad, run.t, evaluations = strong_wolfe(
                evaluate, run.t, run.d, run.loss, run.flat_grad, slope
            )
            self._add_direction(run.t, run.d)
            run.optimal = run.flat_grad.abs().max() <= group["tolerance_grad"]
            return evaluations
        self._add_direction(run.t, run.d)
        run.optimal = False
        if run.iterations == group["max_iter"]:
            # The next step evaluates here anyway.
            return 0
        with enable_grad():
            run.loss = float(closure())
        run.flat_grad = self._gather_flat_grad()
        run.optimal = run.flat_grad.abs().max() <= group["tolerance_grad"]
        return 1


class _Run:
    """What one call of `step` changes: the history of updates and the current point."""

    def __init__(self, loss, flat_grad, state):
        self.loss, self.flat_grad = loss, flat_grad
        self.iterations, self.evaluations, self.optimal = 0, 1, False
        self.d, self.t = state.get("d"), state.get("t")
        self.old_dirs, self.old_stps = state.get("old_dirs"), state.get("old_stps")
        self.ro, self.h_diag = state.get("ro"), state.get("H_diag")
        self.prev_flat_grad, self.prev_loss = state.get("prev_flat_grad"), state.get("prev_loss")

    def restart(self):
        self.d = self.flat_grad.neg()
        self.old_dirs, self.old_stps, self.ro, self.h_diag = [], [], [], 1

    def update_history(self, history_size):
        """Keeps the last change of the gradient `y` and of the parameters `s`."""
        y = self.flat_grad.sub(self.prev_flat_grad)
        s = self.d.mul(self.t)
        ys = y.dot(s)
        if ys <= 1e-10:
            return
        if len(self.old_dirs) == history_size:
            for history in (self.old_dirs, self.old_stps, self.ro):
                history.pop(0)
        self.old_dirs.append(y)
        self.old_stps.append(s)
        self.ro.append(1.0 / ys)
        self.h_diag = ys / y.dot(y)

    def direction(self, state, history_size):
        """The two-loop product of the approximate inverse Hessian and the negative gradient."""
        al = state.setdefault("al", [None] * history_size)
        q = self.flat_grad.neg()
        for i in reversed(range(len(self.old_dirs))):
            al[i] = self.old_stps[i].dot(q) * self.ro[i]
            q.add_(self.old_dirs[i], alpha=-to_scalar(al[i]))
        r = q.mul(self.h_diag)
        for i in range(len(self.old_dirs)):
            beta = self.old_dirs[i].dot(r) * self.ro[i]
            r.add_(self.old_stps[i], alpha=to_scalar(al[i] - beta))
        return r

    def converged(self, group):
        tolerance = group["tolerance_change"]
        return (
            self.iterations == group["max_iter"]
            or self.evaluations >= group["max_eval"]
            or self.optimal
            or bool(self.d.mul(self.t).abs().max() <= tolerance)
            or abs(self.loss - self.prev_loss) < tolerance
        )
