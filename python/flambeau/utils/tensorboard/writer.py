"""`SummaryWriter`: numbers, texts, histograms and images for TensorBoard."""

from __future__ import annotations

import importlib
import os
import time
from typing import Any

from flambeau._absent import missing


def _part(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            "torch.utils.tensorboard needs the package 'tensorboard': pip install tensorboard"
        ) from error


def _array(value):
    """A NumPy array of a tensor or of what NumPy takes."""
    import numpy

    return value.detach().cpu().numpy() if hasattr(value, "detach") else numpy.asarray(value)


class FileWriter:
    """Writes events into a file of a folder."""

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        module = _part("tensorboard.summary.writer.event_file_writer")
        self.event_writer = module.EventFileWriter(
            str(log_dir), max_queue, flush_secs, filename_suffix
        )

    def get_logdir(self):
        """The folder."""
        return self.event_writer.get_logdir()

    def add_event(self, event, step=None, walltime=None):
        """Writes an event."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary, global_step=None, walltime=None):
        """Writes a summary."""
        event_pb2 = _part("tensorboard.compat.proto.event_pb2")
        self.add_event(event_pb2.Event(summary=summary), global_step, walltime)

    def flush(self):
        """Writes what waits."""
        self.event_writer.flush()

    def close(self):
        """Ends the file."""
        self.event_writer.close()


class SummaryWriter:
    """Writes numbers, texts, histograms and images for TensorBoard.

    Args:
        log_dir: the folder; one below ``runs`` by default, with the time and ``comment``.
    """

    def __init__(
        self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120,
        filename_suffix="",
    ):  # fmt: skip
        if not log_dir:
            import datetime
            import socket

            now = datetime.datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self._options = (max_queue, flush_secs, filename_suffix)
        self.file_writer: Any = None
        self.all_writers: Any = None
        self._get_file_writer()

    def _get_file_writer(self):
        if self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, *self._options)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
        return self.file_writer

    def get_logdir(self):
        """The folder."""
        return self.log_dir

    def _write(self, step, walltime, **fields):
        summary = _part("tensorboard.compat.proto.summary_pb2").Summary
        value = summary.Value(**fields)
        self._get_file_writer().add_summary(summary(value=[value]), step, walltime)

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False,
                   double_precision=False):  # fmt: skip
        """A number."""
        self._write(global_step, walltime, tag=tag, simple_value=float(_array(scalar_value)))

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Several numbers, each in a folder of its own."""
        self._get_file_writer()
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{tag}")
            if folder not in self.all_writers:
                self.all_writers[folder] = FileWriter(folder, *self._options)
            before, self.file_writer = self.file_writer, self.all_writers[folder]
            self.add_scalar(main_tag, value, global_step, walltime)
            self.file_writer = before

    def add_tensor(self, tag, tensor, global_step=None, walltime=None):
        """A tensor."""
        util = _part("tensorboard.util.tensor_util")
        self._write(global_step, walltime, tag=tag, tensor=util.make_tensor_proto(_array(tensor)))

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """A text."""
        metadata = _part("tensorboard.plugins.text.metadata")
        util = _part("tensorboard.util.tensor_util")
        proto = util.make_tensor_proto([text_string.encode()])
        self._write(
            global_step, walltime, tag=f"{tag}/text_summary", tensor=proto,
            metadata=metadata.create_summary_metadata("", ""),
        )  # fmt: skip

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None,
                      max_bins=None):  # fmt: skip
        """The distribution of numbers."""
        import numpy

        numbers = _array(values).astype(numpy.float64).ravel()
        if numbers.size == 0:
            raise ValueError("The input has no element.")
        count = max_bins or 64
        counts, edges = numpy.histogram(numbers, bins=count if isinstance(bins, str) else bins)
        proto = _part("tensorboard.compat.proto.summary_pb2").HistogramProto(
            min=numbers.min(), max=numbers.max(), num=numbers.size, sum=numbers.sum(),
            sum_squares=float(numbers.dot(numbers)), bucket_limit=edges[1:].tolist(),
            bucket=counts.tolist(),
        )  # fmt: skip
        self._write(global_step, walltime, tag=tag, histo=proto)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """An image, whose values lie in [0, 1] or are bytes; needs pillow."""
        import io

        import numpy

        image = _array(img_tensor)
        order = [dataformats.upper().index(c) for c in "HWC" if c in dataformats.upper()]
        image = image.transpose(order)
        if image.dtype != numpy.uint8:
            image = (image.clip(0, 1) * 255).astype(numpy.uint8)
        if image.ndim == 3 and image.shape[2] == 1:
            image = image[:, :, 0]
        buffer = io.BytesIO()
        importlib.import_module("PIL.Image").fromarray(image).save(buffer, format="PNG")
        channels = 1 if image.ndim == 2 else image.shape[2]
        proto = _part("tensorboard.compat.proto.summary_pb2").Summary.Image(
            height=image.shape[0], width=image.shape[1], colorspace=channels,
            encoded_image_string=buffer.getvalue(),
        )  # fmt: skip
        self._write(global_step, walltime, tag=tag, image=proto)

    def _unbuilt(self, name):
        raise missing(f"SummaryWriter.{name}", "graphs, embeddings, films, curves and settings")

    def add_images(self, *args, **kwargs):
        """Not built yet."""
        self._unbuilt("add_images")

    def add_figure(self, *args, **kwargs):
        """Not built yet."""
        self._unbuilt("add_figure")

    def add_video(self, *args, **kwargs):
        """Not built yet."""
        self._unbuilt("add_video")

    def add_graph(self, *args, **kwargs):
        """Not built yet."""
        self._unbuilt("add_graph")

    def add_embedding(self, *args, **kwargs):
        """Not built yet."""
        self._unbuilt("add_embedding")

    def add_pr_curve(self, *args, **kwargs):
        """Not built yet."""
        self._unbuilt("add_pr_curve")

    def add_hparams(self, *args, **kwargs):
        """Not built yet."""
        self._unbuilt("add_hparams")

    def flush(self):
        """Writes what waits."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self):
        """Ends the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
