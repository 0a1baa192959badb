"""torch_geometric: layers, loaders, data objects, utilities, transforms, explanations."""

import io
import json
import pickle

import torch
import torch.nn.functional as F
from torch_geometric import seed_everything
from torch_geometric import transforms as T
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.loader import DataLoader
from torch_geometric.nn import (
    APPNP,
    GAE,
    MLP,
    BatchNorm,
    ChebConv,
    EdgeConv,
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    GINEConv,
    GraphConv,
    GraphNorm,
    GraphSAGE,
    HeteroConv,
    InnerProductDecoder,
    JumpingKnowledge,
    NNConv,
    PNAConv,
    RGCNConv,
    SAGEConv,
    SGConv,
    TAGConv,
    TopKPooling,
    TransformerConv,
    global_add_pool,
    global_max_pool,
    global_mean_pool,
)
from torch_geometric.nn.aggr import (
    MultiAggregation,
    Set2Set,
    SoftmaxAggregation,
    SortAggregation,
)
from torch_geometric.utils import (
    add_self_loops,
    coalesce,
    contains_self_loops,
    degree,
    dense_to_sparse,
    get_laplacian,
    is_undirected,
    k_hop_subgraph,
    negative_sampling,
    remove_self_loops,
    scatter,
    softmax,
    subgraph,
    to_dense_adj,
    to_dense_batch,
    to_networkx,
    to_undirected,
)

seed_everything(0)
out = {}
TOLERANCE = {"trained*": (1e-3, 1e-4)}


def numbers(tensor):
    return tensor.detach().double().reshape(-1).tolist()


def totals(tensor):
    flat = tensor.detach().double().reshape(-1)
    return [flat.sum().item(), flat.abs().sum().item(), *flat[:3].tolist()]


edge_index = torch.tensor(
    [[0, 1, 1, 2, 3, 4, 4, 5, 5, 0, 2, 6, 6, 7], [1, 0, 2, 1, 4, 3, 5, 4, 0, 5, 6, 2, 7, 6]]
)
x = torch.randn(8, 5)
edge_weight = torch.rand(14)
edge_attr = torch.rand(14, 3)
y = torch.tensor([0, 0, 1, 1, 2, 2, 0, 1])

# Layers: values and gradients, on weights of a seed.
layers = {
    "gcn": (GCNConv(5, 4), (edge_weight,)),
    "gat": (GATConv(5, 4, heads=2, edge_dim=3), (edge_attr,)),
    "gatv2": (GATv2Conv(5, 4, heads=2, concat=False), ()),
    "sage_mean": (SAGEConv(5, 4), ()),
    "sage_max": (SAGEConv(5, 4, aggr="max", project=True), ()),
    "sage_lstm": (SAGEConv(5, 4, aggr="lstm"), ()),
    "gin": (GINConv(MLP([5, 6, 4], norm=None), train_eps=True), ()),
    "gine": (GINEConv(MLP([5, 4], norm=None), edge_dim=3), (edge_attr,)),
    "graph": (GraphConv(5, 4), (edge_weight,)),
    "cheb": (ChebConv(5, 4, K=3), ()),
    "tag": (TAGConv(5, 4), ()),
    "sg": (SGConv(5, 4, K=2), ()),
    "appnp": (APPNP(K=3, alpha=0.1), ()),
    "edge": (EdgeConv(MLP([10, 4], norm=None)), ()),
    "nn": (NNConv(5, 4, MLP([3, 20], norm=None)), (edge_attr,)),
    "transformer": (TransformerConv(5, 4, heads=2, edge_dim=3), (edge_attr,)),
    "rgcn": (RGCNConv(5, 4, num_relations=3, num_bases=2), (torch.arange(14) % 3,)),
    "pna": (
        PNAConv(
            5,
            4,
            ["mean", "min", "max", "std"],
            ["identity", "amplification", "attenuation"],
            deg=torch.tensor([0, 2, 6]),
        ),
        (),
    ),
}
for name, (layer, extra) in layers.items():
    sources = edge_index
    if name == "sage_lstm":
        sources, _ = torch.sort(edge_index[1]), None
        order = torch.argsort(edge_index[1], stable=True)
        sources = edge_index[:, order]
    inputs = x.clone().requires_grad_()
    result = layer(inputs, sources, *extra)
    grads = torch.autograd.grad(
        result.square().sum(), [inputs, *[p for p in layer.parameters() if p.requires_grad]]
    )
    out["layer_" + name] = [*totals(result), *[g.abs().sum().item() for g in grads]]

# Training on nodes.
model = GraphSAGE(5, 16, num_layers=2, out_channels=3, dropout=0.2, norm="batch", jk="cat")
optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
losses = []
for _ in range(10):
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x, edge_index), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
model.eval()
out["trained_sage"] = losses
out["trained_sage_out"] = totals(model(x, edge_index))
out["sage_repr"] = repr(model)

# Graphs in batches.
graphs = []
for i in range(12):
    n = 4 + i % 3
    ends = torch.randint(0, n, (2, 9))
    graphs.append(Data(x=torch.randn(n, 5), edge_index=ends, y=torch.tensor([i % 2]), tag=f"g{i}"))
loader = DataLoader(graphs, batch_size=5, shuffle=True)


class Graphs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = GCNConv(5, 8)
        self.norm = GraphNorm(8)
        self.pool = TopKPooling(8, ratio=0.6)
        self.second = GATConv(8, 8)
        self.last = torch.nn.Linear(24, 2)

    def forward(self, data):
        h = self.norm(self.first(data.x, data.edge_index), data.batch).relu()
        h, edges, _, batch, _, _ = self.pool(h, data.edge_index, None, data.batch)
        h = self.second(h, edges)
        pooled = [pool(h, batch) for pool in (global_add_pool, global_mean_pool, global_max_pool)]
        return self.last(torch.cat(pooled, -1))


model = Graphs()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses, tags = [], []
for _ in range(3):
    for batch in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch), batch.y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        tags += batch.tag
out["trained_graphs"] = losses
out["tags"] = tags
batch = Batch.from_data_list(graphs[:3])
out["batch"] = [str(batch), batch.num_graphs, batch.ptr.tolist(), str(batch[1])]

# Aggregations and pooling.
index = torch.tensor([0, 0, 1, 1, 1, 3, 3, 3])
for name, aggregate in {
    "softmax": SoftmaxAggregation(learn=True),
    "sort": SortAggregation(k=2),
    "set2set": Set2Set(5, processing_steps=2),
    "multi": MultiAggregation(["sum", "mean", "max", "std", "median", "var", "mul"]),
}.items():
    out["aggregate_" + name] = totals(aggregate(x, index))
for reduce in ("sum", "mean", "max", "min", "mul"):
    values = x.clone().requires_grad_()
    scattered = scatter(values, index, dim=0, dim_size=5, reduce=reduce)
    grad = torch.autograd.grad(scattered.square().sum(), values)[0]
    out["scatter_" + reduce] = numbers(scattered) + numbers(grad)
out["softmax"] = numbers(softmax(x, index))
out["knowledge"] = totals(JumpingKnowledge("lstm", 5, 2)([x, x * 2]))
out["norm"] = totals(BatchNorm(5)(x))

# Utilities.
looped, _ = add_self_loops(edge_index, num_nodes=8)
out["degree"] = degree(looped[0], 8).tolist()
out["contains"] = [contains_self_loops(looped), is_undirected(edge_index)]
out["removed"] = remove_self_loops(looped)[0].shape[1]
laplacian = get_laplacian(edge_index, edge_weight, "sym", num_nodes=8)
out["laplacian"] = [laplacian[0].tolist(), numbers(laplacian[1])]
merged = coalesce(torch.tensor([[1, 0, 1, 0], [2, 1, 2, 3]]), torch.arange(4.0), reduce="sum")
out["coalesced"] = [merged[0].tolist(), merged[1].tolist()]
dense = to_dense_adj(edge_index, edge_attr=edge_weight)
out["dense"] = numbers(dense)
out["sparse"] = [part.tolist() for part in dense_to_sparse(dense[0])]
out["dense_batch"] = [totals(to_dense_batch(x, index)[0]), to_dense_batch(x, index)[1].tolist()]
out["undirected"] = to_undirected(edge_index[:, :5]).tolist()
out["subgraph"] = subgraph([0, 1, 2], edge_index, relabel_nodes=True)[0].tolist()
hop = k_hop_subgraph(0, 2, edge_index)
out["hops"] = [part.tolist() for part in hop]
torch.manual_seed(4)
out["negative"] = list(negative_sampling(edge_index, num_nodes=8, num_neg_samples=6).shape)
out["networkx"] = to_networkx(Data(x=x, edge_index=edge_index)).number_of_edges()

# Data objects.
data = Data(x=x, edge_index=edge_index, edge_attr=edge_attr, y=y)
out["data"] = [str(data), data.num_edges, data.num_node_features, data.is_undirected(), data.keys()]
again = pickle.loads(pickle.dumps(data))
out["pickled"] = [str(again), bool(torch.equal(again.x, data.x))]
buffer = io.BytesIO()
torch.save(data, buffer)
buffer.seek(0)
out["saved"] = str(torch.load(buffer, weights_only=False))
for name, transform in {
    "normalize": T.NormalizeFeatures(),
    "loops": T.AddSelfLoops(),
    "degree": T.OneHotDegree(3),
    "gcn": T.GCNNorm(),
    "largest": T.LargestConnectedComponents(),
    "laplacian": T.AddLaplacianEigenvectorPE(2, is_undirected=True),
    "walk": T.AddRandomWalkPE(3),
}.items():
    torch.manual_seed(5)
    made = transform(data.clone())
    out["transform_" + name] = [str(made), totals(made.x), totals(made.edge_index)]
    if name == "walk":
        out["transform_walk"] += [numbers(made.random_walk_pe)]
torch.manual_seed(6)
split = T.RandomLinkSplit(num_val=0.2, num_test=0.2, is_undirected=True)(data)
out["split"] = [str(part) for part in split]
split = T.RandomNodeSplit(num_val=2, num_test=2)(data.clone())
out["node_split"] = [split.train_mask.tolist(), split.test_mask.tolist()]

hetero = HeteroData()
hetero["a"].x, hetero["b"].x = torch.randn(4, 5), torch.randn(3, 2)
hetero["a", "to", "b"].edge_index = torch.tensor([[0, 1, 2, 3], [0, 1, 2, 0]])
hetero["b", "back", "a"].edge_index = torch.tensor([[0, 1, 2], [3, 2, 1]])
conv = HeteroConv(
    {
        ("a", "to", "b"): SAGEConv((5, 2), 4),
        ("b", "back", "a"): GATConv((2, 5), 4, add_self_loops=False),
    }
)
result = conv(hetero.x_dict, hetero.edge_index_dict)
out["hetero"] = [str(hetero), {key: totals(value) for key, value in result.items()}]

# An auto-encoder of graphs, with sampled negative edges.
auto = GAE(GCNConv(5, 4), InnerProductDecoder())
z = auto.encode(x, edge_index)
out["decoded"] = numbers(auto.decode(z, edge_index))
out["reconstruction"] = auto.recon_loss(z, edge_index, edge_index.flip(0)).item()

print(json.dumps(out))
