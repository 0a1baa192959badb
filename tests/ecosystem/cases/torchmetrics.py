"""torchmetrics: classification, regression, aggregation, retrieval, collections, states."""

import json
import pickle
import warnings

import torch
import torchmetrics as tm
from torchmetrics import classification as c
from torchmetrics import clustering, nominal, retrieval, segmentation
from torchmetrics import regression as r
from torchmetrics.functional import accuracy, pairwise_cosine_similarity
from torchmetrics.wrappers import (
    BootStrapper,
    ClasswiseWrapper,
    MetricTracker,
    MinMaxMetric,
    MultioutputWrapper,
    Running,
)

warnings.simplefilter("ignore")
torch.manual_seed(0)
result = {}


def plain(value):
    """Tensors inside of a result as lists of numbers."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def follow(metric, batches):
    """The first batch's value, the whole one, the whole one once more after `reset`."""
    first = plain(metric(*batches[0]))
    for batch in batches[1:]:
        metric.update(*batch)
    whole = plain(metric.compute())
    metric.reset()
    for batch in batches:
        metric.update(*batch)
    return {"forward": first, "compute": whole, "again": plain(metric.compute()) == whole}


batches = [(torch.randn(20, 4).softmax(1), torch.randint(0, 4, (20,))) for _ in range(3)]
for name, metric in {
    "accuracy_micro": c.MulticlassAccuracy(4, average="micro"),
    "accuracy_macro": c.MulticlassAccuracy(4),
    "accuracy_top2": c.MulticlassAccuracy(4, top_k=2, average="weighted"),
    "precision": c.MulticlassPrecision(4, average=None),
    "recall": c.MulticlassRecall(4, ignore_index=0),
    "specificity": c.MulticlassSpecificity(4),
    "f1": c.MulticlassF1Score(4),
    "fbeta": c.MulticlassFBetaScore(0.5, 4),
    "jaccard": c.MulticlassJaccardIndex(4),
    "confusion": c.MulticlassConfusionMatrix(4, normalize="true"),
    "kappa": c.MulticlassCohenKappa(4),
    "matthews": c.MulticlassMatthewsCorrCoef(4),
    "auroc": c.MulticlassAUROC(4),
    "auroc_binned": c.MulticlassAUROC(4, thresholds=20),
    "average_precision": c.MulticlassAveragePrecision(4, average=None),
    "calibration": c.MulticlassCalibrationError(4, n_bins=5),
    "hinge": c.MulticlassHingeLoss(4),
    "exact": c.MulticlassStatScores(4, average=None),
    "roc": c.MulticlassROC(4, thresholds=5),
    "curve": c.MulticlassPrecisionRecallCurve(4, thresholds=5),
    "task": tm.Accuracy(task="multiclass", num_classes=4),
}.items():
    result[name] = follow(metric, batches)

binary = [(torch.rand(25), torch.randint(0, 2, (25,))) for _ in range(2)]
for name, metric in {
    "binary_accuracy": c.BinaryAccuracy(threshold=0.4),
    "binary_auroc": c.BinaryAUROC(max_fpr=0.5),
    "binary_curve": c.BinaryPrecisionRecallCurve(),
    "binary_roc": c.BinaryROC(),
    "binary_ap": c.BinaryAveragePrecision(thresholds=10),
    "binary_recall_at": c.BinaryRecallAtFixedPrecision(min_precision=0.5, thresholds=None),
    "binary_calibration": c.BinaryCalibrationError(n_bins=4, norm="max"),
    "binary_eer": c.BinaryEER(),
}.items():
    result[name] = follow(metric, binary)
# It sorts false positive rates by `argsort` without `stable`: no two may be equal, so that each
# threshold has another negative.
marks = torch.arange(1, 25) / 25
apart = [
    (torch.cat([marks[i::2], marks[i::3]]), torch.cat([marks[i::2], marks[i::3]]) * 0 + 1)
    for i in (0, 1)
]
for _, wanted in apart:
    wanted[:12] = 0
result["binary_logauc"] = follow(c.BinaryLogAUC((0.013, 0.37)), [(s, w.long()) for s, w in apart])
labels = [(torch.rand(10, 3), torch.randint(0, 2, (10, 3))) for _ in range(2)]
for name, metric in {
    "multilabel_f1": c.MultilabelF1Score(3, average=None),
    "multilabel_ranking": c.MultilabelRankingLoss(3),
    "multilabel_coverage": c.MultilabelCoverageError(3),
    "multilabel_match": c.MultilabelExactMatch(3),
}.items():
    result[name] = follow(metric, labels)

pairs = [(torch.rand(16) + 0.1, torch.rand(16) + 0.1) for _ in range(3)]
for name, metric in {
    "mse": r.MeanSquaredError(),
    "rmse": r.MeanSquaredError(squared=False),
    "mae": r.MeanAbsoluteError(),
    "mape": r.MeanAbsolutePercentageError(),
    "smape": r.SymmetricMeanAbsolutePercentageError(),
    "msle": r.MeanSquaredLogError(),
    "r2": r.R2Score(),
    "explained": r.ExplainedVariance(),
    "pearson": r.PearsonCorrCoef(),
    "spearman": r.SpearmanCorrCoef(),
    "kendall": r.KendallRankCorrCoef(),
    "concordance": r.ConcordanceCorrCoef(),
    "logcosh": r.LogCoshError(),
    "minkowski": r.MinkowskiDistance(3),
    "tweedie": r.TweedieDevianceScore(1.5),
    "nrmse": r.NormalizedRootMeanSquaredError("range"),
    "relative": r.RelativeSquaredError(),
}.items():
    result[name] = follow(metric, pairs)
rows = [(torch.rand(8, 5), torch.rand(8, 5)) for _ in range(2)]
result["cosine"] = follow(r.CosineSimilarity(reduction="mean"), rows)
result["pearson_outputs"] = follow(r.PearsonCorrCoef(num_outputs=5), rows)
result["divergence"] = follow(
    r.KLDivergence(), [tuple(x / x.sum(1, True) for x in row) for row in rows]
)
result["wrapped_outputs"] = follow(MultioutputWrapper(r.R2Score(), 5), rows)

values = [(torch.tensor(v),) for v in (1.0, [2.0, float("nan")], 5.5)]
for name, metric in {
    "sum": tm.SumMetric(),
    "mean": tm.MeanMetric(nan_strategy="ignore"),
    "max": tm.MaxMetric(),
    "min": tm.MinMetric(),
    "cat": tm.CatMetric(nan_strategy=0.0),
    "running": Running(tm.SumMetric(), window=2),
    "running_mean": tm.RunningMean(window=2),
}.items():
    result[name] = follow(metric, values)
mean = tm.MeanMetric()
mean.update(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]))
result["weighted"] = mean.compute().item()

# Retrieval, clustering, nominal association, segmentation, detection by boxes alone.
indexes = torch.tensor([0, 0, 0, 1, 1, 1, 1])
scores, relevant = torch.rand(7), torch.tensor([0, 1, 0, 1, 0, 1, 0])
for name in ("RetrievalMAP", "RetrievalMRR", "RetrievalNormalizedDCG", "RetrievalRPrecision"):
    metric = getattr(retrieval, name)()
    metric.update(scores, relevant, indexes=indexes)
    result[name] = metric.compute().item()
groups = (torch.randint(0, 3, (40,)), torch.randint(0, 3, (40,)))
for name in ("MutualInfoScore", "AdjustedRandScore", "VMeasureScore", "FowlkesMallowsIndex"):
    result[name] = follow(getattr(clustering, name)(), [groups])["compute"]
result["cramers"] = follow(nominal.CramersV(3), [groups])["compute"]
masks = (torch.randint(0, 2, (3, 4, 6, 6)), torch.randint(0, 2, (3, 4, 6, 6)))
result["dice"] = follow(segmentation.GeneralizedDiceScore(4), [masks])["compute"]
result["iou"] = follow(segmentation.MeanIoU(4), [masks])["compute"]

# Collections share states; arithmetic; wrappers.
collection = tm.MetricCollection(
    [c.MulticlassAccuracy(4), c.MulticlassPrecision(4), c.MulticlassConfusionMatrix(4)],
    prefix="val_",
)
result["collection"] = follow(collection, batches)
result["groups"] = {str(k): v for k, v in collection.compute_groups.items()}
copied = collection.clone(postfix="_test")
result["copied"] = sorted(copied.keys())
both = c.MulticlassAccuracy(4) + 2 * c.MulticlassRecall(4) ** 2
both.update(*batches[0])
result["composed"] = both.compute().item()
result["classwise"] = follow(ClasswiseWrapper(c.MulticlassRecall(4, average=None)), batches)
minmax = MinMaxMetric(r.MeanSquaredError())
result["minmax"] = [plain(minmax(*pair)) for pair in pairs]
tracker = MetricTracker(tm.MetricCollection([r.MeanSquaredError(), r.R2Score()]), [False, True])
for pair in pairs:
    tracker.increment()
    tracker.update(*pair)
result["tracker"] = [plain(tracker.compute_all()), plain(tracker.best_metric(return_step=True))]
torch.manual_seed(1)
boot = BootStrapper(r.MeanAbsoluteError(), num_bootstraps=5, sampling_strategy="multinomial")
result["bootstrap"] = follow(boot, pairs)["compute"]

# A metric in a module: states on the way to a file and back, pickle, types, gradients.
metric = r.PearsonCorrCoef()
metric.persistent(True)
metric.update(*pairs[0])
result["state"] = plain(metric.state_dict())
other = r.PearsonCorrCoef()
other.persistent(True)
other.load_state_dict(metric.state_dict())
other._update_count = 1
result["restored"] = other.compute().item()
result["pickled"] = pickle.loads(pickle.dumps(metric)).compute().item()
result["typed"] = str(metric.set_dtype(torch.float64).compute().dtype)
result["hash"] = hash(metric) == hash(other)
left = pairs[0][0].clone().requires_grad_()
r.MeanSquaredError()(left, pairs[0][1]).backward()
result["gradient"] = left.grad.tolist()
result["functional"] = accuracy(*batches[0], task="multiclass", num_classes=4).item()
result["pairwise"] = pairwise_cosine_similarity(rows[0][0]).tolist()


class Own(tm.Metric):
    """A metric with two kinds of state."""

    def __init__(self):
        super().__init__()
        self.add_state("total", torch.tensor(0.0), dist_reduce_fx="sum")
        self.add_state("seen", [], dist_reduce_fx="cat")

    def update(self, x):
        self.total += x.sum()
        self.seen.append(x)

    def compute(self):
        return self.total + torch.cat(self.seen).max()


result["own"] = follow(Own(), [(pair[0],) for pair in pairs])
try:
    c.MulticlassAccuracy(4).update(torch.rand(3, 5), torch.tensor([0, 1, 9]))
except (ValueError, RuntimeError) as error:
    result["error"] = [type(error).__name__, str(error)]
print(json.dumps(result))
