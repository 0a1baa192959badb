"""The transformer: layers of attention, stacks of them, and encoder and decoder together."""

from __future__ import annotations

import copy
import math

from flambeau._C import is_grad_enabled, ops
from flambeau.nn import functional as F
from flambeau.nn import init

from .activation import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _generate_square_subsequent_mask(sz, device=None, dtype=None):
    """Minus infinity above the diagonal, zero elsewhere."""
    full = ops.full((sz, sz), -math.inf, device=device, dtype=dtype)
    return full.triu(1)


def _get_seq_len(src, batch_first):
    """The length of sequences (L, E), (L, N, E), or (N, L, E) with batch_first."""
    return src.shape[1 if batch_first and src.dim() == 3 else 0]


def _detect_is_causal_mask(mask, is_causal=None, size=None):
    """Whether attention is causal: as is_causal says, or, if that is None, as mask looks."""
    if is_causal is not None:
        return is_causal is True
    if mask is None:
        return False
    size = mask.shape[-2] if size is None else size
    if mask.shape != (size, size):
        return False
    causal = _generate_square_subsequent_mask(size, device=mask.device, dtype=mask.dtype)
    return bool((mask == causal).all())


def _get_activation_fn(activation):
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")


def _get_clones(module, count):
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _number_masks(padding, padding_name, mask, mask_name, dtype):
    """A pair of masks as numbers; AssertionError where they hold integers."""
    other = F._none_or_dtype(mask)
    return (
        F._canonical_mask(padding, padding_name, other, mask_name, dtype),
        F._canonical_mask(mask, mask_name, None, "", dtype, False),
    )


def _attend(attention, x, memory, attn_mask, key_padding_mask, is_causal):
    return attention(
        x,
        memory,
        memory,
        attn_mask=attn_mask,
        key_padding_mask=key_padding_mask,
        need_weights=False,
        is_causal=is_causal,
    )[0]


class _Layer(Module):
    """What encoder and decoder layers share: the two linear layers and the order of a block."""

    __constants__ = ["norm_first"]

    def _make_feedforward(self, d_model, dim_feedforward, dropout, bias, options):
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **options)

    def _make_norms(self, count, d_model, eps, dropout, bias, options):
        for i in range(1, count + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=eps, bias=bias, **options))
        for i in range(1, count + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))

    def __setstate__(self, state):
        super().__setstate__(state)
        if not hasattr(self, "activation"):  # saved by an old release
            self.activation = F.relu

    def _residual(self, x, norm, block, *args):
        """The block's result added to x, normalised before it or after."""
        if self.norm_first:
            return x + block(norm(x), *args)
        return norm(x + block(x, *args))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout1(_attend(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal))

    def _feedforward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and two linear layers, each added to its input and normalised.

    Args:
        d_model: E, the size of inputs and results.
        nhead: heads of the attention.
        dim_feedforward: the size between the linear layers.
        dropout: probability with which elements are dropped in training.
        activation: ``"relu"``, ``"gelu"`` or a function.
        layer_norm_eps: eps of the normalisations.
        batch_first: tensors are (N, L, E) instead of (L, N, E).
        norm_first: normalises before attention and linear layers instead of after them.
        bias: whether linear layers and normalisations have biases.

    The call takes src, src_mask and src_key_padding_mask as `nn.MultiheadAttention` does, and
    is_causal, which says that src_mask is the causal one.

    Raises:
        RuntimeError: activation is another string, or is_causal comes without src_mask.

    Example:
        >>> layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        >>> layer(flambeau.ones(3, 5, 8)).shape
        torch.Size([3, 5, 8])
    """

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **options
        )
        self._make_feedforward(d_model, dim_feedforward, dropout, bias, options)
        self.norm_first = norm_first
        self._make_norms(2, d_model, layer_norm_eps, dropout, bias, options)
        if isinstance(activation, str):
            activation = _get_activation_fn(activation)
        kind = getattr(activation, "__name__", type(activation).__name__).lower()
        self.activation_relu_or_gelu = {"relu": 1, "gelu": 2}.get(kind, 0)
        self.activation = activation

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        padding, mask = _number_masks(
            src_key_padding_mask, "src_key_padding_mask", src_mask, "src_mask", src.dtype
        )
        x = self._residual(src, self.norm1, self._sa_block, mask, padding, is_causal)
        return self._residual(x, self.norm2, self._ff_block)

    def _ff_block(self, x):
        return self.dropout2(self._feedforward(x))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to an encoder's results and two linear layers.

    The arguments are those of `TransformerEncoderLayer`. The call takes tgt, memory, their masks
    tgt_mask, memory_mask, tgt_key_padding_mask and memory_key_padding_mask, and tgt_is_causal and
    memory_is_causal, which say that the masks are causal.

    Raises:
        RuntimeError: activation is another string than ``"relu"`` and ``"gelu"``.

    Example:
        >>> layer = nn.TransformerDecoderLayer(8, 2, 16)
        >>> layer(flambeau.ones(4, 1, 8), flambeau.ones(6, 1, 8)).shape
        torch.Size([4, 1, 8])
    """

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        attention = {"dropout": dropout, "bias": bias, "batch_first": batch_first, **options}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **attention)
        self._make_feedforward(d_model, dim_feedforward, dropout, bias, options)
        self.norm_first = norm_first
        self._make_norms(3, d_model, layer_norm_eps, dropout, bias, options)
        if isinstance(activation, str):
            activation = _get_activation_fn(activation)
        self.activation = activation

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=False,
        memory_is_causal=False,
    ):
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        x = self._residual(tgt, self.norm1, self._sa_block, *own)
        x = self._residual(x, self.norm2, self._mha_block, *other)
        return self._residual(x, self.norm3, self._ff_block)

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        out = _attend(self.multihead_attn, x, mem, attn_mask, key_padding_mask, is_causal)
        return self.dropout2(out)

    def _ff_block(self, x):
        return self.dropout3(self._feedforward(x))


def _may_drop_padding(layer):
    """Whether PyTorch leaves the padding out of an encoder of such layers in evaluation."""
    if not isinstance(layer, TransformerEncoderLayer):
        return False
    attention = layer.self_attn
    return (
        not layer.norm_first
        and attention.batch_first
        and attention._qkv_same_embed_dim
        and attention.in_proj_bias is not None
        and bool(layer.activation_relu_or_gelu)
        and layer.norm1.eps == layer.norm2.eps
        and attention.num_heads % 2 == 0
    )


class TransformerEncoder(Module):
    """Copies of a `TransformerEncoderLayer`, one after the other.

    Args:
        encoder_layer: the layer to copy.
        num_layers: how many copies.
        norm: a module that is called last.
        enable_nested_tensor: in evaluation without gradients, padding is zero before norm.
        mask_check: only where all padding is at the end of the sequences.

    The call takes src, mask, src_key_padding_mask and is_causal; ``is_causal=None`` looks whether
    mask is the causal one.

    Example:
        >>> layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        >>> len(list(nn.TransformerEncoder(layer, 3).parameters()))
        36
    """

    __constants__ = ["norm"]

    def __init__(
        self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = bool(enable_nested_tensor) and _may_drop_padding(encoder_layer)
        self.mask_check = mask_check

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        padding, mask = _number_masks(
            src_key_padding_mask, "src_key_padding_mask", mask, "mask", src.dtype
        )
        attention = getattr(self.layers[0], "self_attn", None)
        length = _get_seq_len(src, getattr(attention, "batch_first", False))
        is_causal = _detect_is_causal_mask(mask, is_causal, length)
        out = src
        for layer in self.layers:
            out = layer(out, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        if padding is not None and mask is None and self._drops_padding(src, padding):
            out = out.masked_fill((padding != 0).unsqueeze(-1), 0)
        return out if self.norm is None else self.norm(out)

    def _drops_padding(self, src, padding):
        if self.training or not self.use_nested_tensor or src.dim() != 3:
            return False
        members = [src, *self.layers[0].parameters()]
        if is_grad_enabled() and any(t.requires_grad for t in members):
            return False
        kept = padding == 0
        return not self.mask_check or not bool((kept[:, 1:] & ~kept[:, :-1]).any())


class TransformerDecoder(Module):
    """Copies of a `TransformerDecoderLayer`, one after the other.

    Args:
        decoder_layer: the layer to copy.
        num_layers: how many copies.
        norm: a module that is called last.

    The call takes the arguments of the layer; ``tgt_is_causal=None``, the default, looks whether
    tgt_mask is the causal one.

    Example:
        >>> decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2)
        >>> decoder(flambeau.ones(4, 1, 8), flambeau.ones(6, 1, 8)).shape
        torch.Size([4, 1, 8])
    """

    __constants__ = ["norm"]

    def __init__(self, decoder_layer, num_layers, norm=None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        attention = getattr(self.layers[0], "self_attn", None)
        length = _get_seq_len(tgt, getattr(attention, "batch_first", False))
        tgt_is_causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, length)
        out = tgt
        for layer in self.layers:
            out = layer(
                out,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return out if self.norm is None else self.norm(out)


class Transformer(Module):
    """An encoder and a decoder of attention layers.

    Args:
        d_model: E, the size of inputs and results.
        nhead: heads of the attentions.
        num_encoder_layers, num_decoder_layers: layers of the two parts.
        custom_encoder, custom_decoder: modules to use in place of the two parts.

    The others are those of `TransformerEncoderLayer`. The call takes src (S, N, E), tgt (T, N, E)
    and the masks and is_causal options of both parts and of the memory between them.

    Raises:
        RuntimeError: src and tgt have different batch sizes, or not d_model features.

    Example:
        >>> model = nn.Transformer(8, 2, 1, 1, 16)
        >>> mask = nn.Transformer.generate_square_subsequent_mask(4)
        >>> model(flambeau.ones(6, 1, 8), flambeau.ones(4, 1, 8), tgt_mask=mask).shape
        torch.Size([4, 1, 8])
    """

    def __init__(
        self,
        d_model=512,
        nhead=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        custom_encoder=None,
        custom_decoder=None,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        rest = (dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def norm():
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **options)

        if custom_encoder is None:
            encoder_layer = TransformerEncoderLayer(
                d_model, nhead, dim_feedforward, *rest, **options
            )
            self.encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norm())
        else:
            self.encoder = custom_encoder
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(
                d_model, nhead, dim_feedforward, *rest, **options
            )
            self.decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm())
        else:
            self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for param in self.parameters():
            if param.dim() > 1:
                init.xavier_uniform_(param)

    def forward(
        self,
        src,
        tgt,
        src_mask=None,
        tgt_mask=None,
        memory_mask=None,
        src_key_padding_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        src_is_causal=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src,
            mask=src_mask,
            src_key_padding_mask=src_key_padding_mask,
            is_causal=src_is_causal,
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """The causal mask (sz, sz): minus infinity above the diagonal, zero elsewhere.

        >>> nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _generate_square_subsequent_mask(sz, device, dtype)
