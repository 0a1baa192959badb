"""sentence-transformers: a tiny encoder pools, compares, searches, trains and is loaded again."""

import json
import os
import tempfile

import torch
from sentence_transformers import CrossEncoder, SentenceTransformer, models, util
from sentence_transformers.losses import (
    CosineSimilarityLoss,
    MultipleNegativesRankingLoss,
    TripletLoss,
)
from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizerFast

folder = tempfile.mkdtemp()
sentences = [
    "a cat sat on the mat",
    "the dog ran in the park",
    "one cat ran",
    "birds sing on the tree in the morning",
    "the park is green",
    "a dog sat",
]


def fill(model, scale=0.2):
    """Weights from arithmetic, so that no generator has a part in the figures."""
    with torch.no_grad():
        for index, (name, value) in enumerate(sorted(model.named_parameters())):
            wave = torch.sin(torch.arange(value.numel(), dtype=torch.float64) * 0.7311 + index)
            base = 1.0 if "LayerNorm.weight" in name else 0.0
            value.copy_(base + scale * wave.reshape(value.shape))
    return model


words = sorted({word for sentence in sentences for word in sentence.split()})
with open(os.path.join(folder, "vocab.txt"), "w") as file:
    file.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
tokenizer = BertTokenizerFast.from_pretrained(folder)
settings = {
    "vocab_size": len(words) + 5,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 32,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
for name, kind in {"encoder": BertModel, "cross": BertForSequenceClassification}.items():
    path = os.path.join(folder, name)
    fill(kind(BertConfig(**settings, num_labels=1))).save_pretrained(path)
    tokenizer.save_pretrained(path)


def encoder(pooling="mean", *more):
    """The encoder with a pooling."""
    transformer = models.Transformer(os.path.join(folder, "encoder"), max_seq_length=16)
    pool = models.Pooling(transformer.get_word_embedding_dimension(), pooling)
    return SentenceTransformer(modules=[transformer, pool, *more], device="cpu")


torch.manual_seed(0)
result = {}
for pooling in ("mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"):
    out = encoder(pooling).encode(sentences, batch_size=4, convert_to_tensor=True)
    result[pooling] = [list(out.shape), str(out.dtype), out[:, :3].flatten().tolist()]

dense = fill(models.Dense(24, 6, activation_function=torch.nn.Tanh()))
model = encoder("mean", dense, models.Normalize())
out = model.encode(sentences, convert_to_tensor=True)
result["dense"] = out[:3].flatten().tolist()
result["dimension"] = model.get_sentence_embedding_dimension()
result["similarity"] = model.similarity(out, out).flatten().tolist()
result["pairwise"] = model.similarity_pairwise(out[:3], out[3:]).tolist()
found = util.semantic_search(out[:2], out, top_k=3)
result["search"] = [[[hit["corpus_id"], hit["score"]] for hit in hits] for hits in found]
result["mined"] = [
    [float(score), int(one), int(other)]
    for score, one, other in util.paraphrase_mining_embeddings(out, top_k=2)
]
result["tokens"] = [
    list(value.shape) for value in model.encode(sentences[:3], output_value="token_embeddings")
]
array = model.encode(sentences[0], normalize_embeddings=True)
result["array"] = [str(array.dtype), list(array.shape), array.tolist()]
for precision in ("int8", "binary"):
    packed = model.encode(sentences, precision=precision, show_progress_bar=False)
    result[precision] = [str(packed.dtype), list(packed.shape)]

# A training step of three objectives, written out.
for kind, columns, labels in (
    (CosineSimilarityLoss, 2, torch.tensor([0.9, 0.1])),
    (MultipleNegativesRankingLoss, 2, None),
    (TripletLoss, 3, None),
):
    model = encoder("mean")
    objective = kind(model)
    optimizer = torch.optim.AdamW(objective.parameters(), lr=0.01)
    features = [model.tokenize(sentences[2 * i : 2 * i + 2]) for i in range(columns)]
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = objective([dict(one) for one in features], labels)
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    result[kind.__name__] = losses
out = model.encode(sentences, convert_to_tensor=True)
model.save_pretrained(os.path.join(folder, "saved"))
again = SentenceTransformer(os.path.join(folder, "saved"), device="cpu")
result["reload"] = bool(torch.equal(again.encode(sentences, convert_to_tensor=True), out))
half = SentenceTransformer(
    os.path.join(folder, "saved"), device="cpu", model_kwargs={"dtype": torch.bfloat16}
)
result["bfloat16"] = str(half.encode(sentences, convert_to_tensor=True).dtype)

cross = CrossEncoder(os.path.join(folder, "cross"), device="cpu", max_length=24)
pairs = [(sentences[0], other) for other in sentences[1:]]
result["cross"] = cross.predict(pairs).tolist()
result["ranks"] = [hit["corpus_id"] for hit in cross.rank(sentences[0], sentences[1:])]
print(json.dumps(result))
