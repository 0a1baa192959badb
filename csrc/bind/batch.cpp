// Batches between the processes of a data loader, as bytes: containers, numbers and text, and
// tensors as places in shared memory. What is neither makes the sender pickle the batch
// (python/flambeau/utils/data/_utils/channel.py).
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bind/convert.h"
#include "bind/shared.h"
#include "bind/tensor_type.h"
#include "core/transform.h"
#include "runtime/shared_memory.h"

namespace flambeau::bind {
namespace {

// Numbers are in the byte order of the machine: both sides run this program.
enum class Tag : uint8_t {
  None,
  True,
  False,
  Int,
  Float,
  Text,
  Bytes,
  Tuple,
  List,
  Dict,
  Copied,  // a small tensor: its elements follow
  Placed,  // a tensor in a block
  Again,   // a tensor that was there before
};

constexpr size_t kCopiedBytes = 1 << 12;  // below, a message is cheaper than a place in a block
constexpr int kDepth = 100;

// Something that has no tag is in the batch.
struct Unknown {};

// Writes a batch. Tensors of one storage stay so on the other side, and one object stays one.
class Writer {
 public:
  // `share(tensor)` gives the same tensor in a block that the other side can have, or None where
  // that cannot be; `known` has the addresses of those blocks as keys.
  Writer(PyObject* known, PyObject* share, bool copies)
      : known_(known), share_(share), copies_(copies) {}

  void value(PyObject* o, int depth = 0) {
    if (depth > kDepth) throw Unknown{};
    if (o == Py_None) return put(Tag::None);
    if (o == Py_True) return put(Tag::True);
    if (o == Py_False) return put(Tag::False);
    if (PyLong_CheckExact(o)) {
      int overflow;
      const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
      if (overflow) throw Unknown{};
      put(Tag::Int);
      return put(v);
    }
    if (PyFloat_CheckExact(o)) {
      put(Tag::Float);
      return put(PyFloat_AS_DOUBLE(o));
    }
    if (PyUnicode_CheckExact(o)) {
      Py_ssize_t size;
      const char* text = PyUnicode_AsUTF8AndSize(o, &size);
      if (!text) {
        PyErr_Clear();  // half of a surrogate pair
        throw Unknown{};
      }
      put(Tag::Text);
      return bytes(text, size_t(size));
    }
    if (PyBytes_CheckExact(o)) {
      put(Tag::Bytes);
      return bytes(PyBytes_AS_STRING(o), size_t(PyBytes_GET_SIZE(o)));
    }
    if (PyTuple_CheckExact(o)) return sequence(Tag::Tuple, o, depth);
    if (PyList_CheckExact(o)) return sequence(Tag::List, o, depth);
    if (PyDict_CheckExact(o)) {
      put(Tag::Dict);
      put(int64_t(PyDict_GET_SIZE(o)));
      Py_ssize_t at = 0;
      PyObject *key, *item;
      const Py_ssize_t size = PyDict_GET_SIZE(o);
      while (PyDict_Next(o, &at, &key, &item)) {
        value(key, depth + 1);
        value(item, depth + 1);
        if (PyDict_GET_SIZE(o) != size) throw Unknown{};
      }
      return;
    }
    if (Py_TYPE(o) == tensor_type) return tensor(o);
    throw Unknown{};
  }

  bool copied_shared() const { return copied_shared_; }
  const std::string& out() const { return out_; }
  const std::vector<const void*>& blocks() const { return blocks_; }

 private:
  template <class T>
  void put(T v) {
    out_.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  void bytes(const char* data, size_t size) {
    put(int64_t(size));
    out_.append(data, size);
  }

  void sequence(Tag tag, PyObject* o, int depth) {
    put(tag);
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(o);
    put(int64_t(size));
    for (Py_ssize_t i = 0; i < size; i++) {
      // `share` is Python and could change a list meanwhile.
      if (PySequence_Fast_GET_SIZE(o) != size) throw Unknown{};
      value(PySequence_Fast_GET_ITEM(o, i), depth + 1);
    }
  }

  void geometry(const Tensor& t) {
    put(uint8_t(t.dtype()));
    put(uint8_t(t.dim()));
    for (int64_t size : t.sizes()) put(size);
  }

  void tensor(PyObject* o) {
    const Tensor& t = as_tensor(o);
    PyObject* dict = reinterpret_cast<PyTensor*>(o)->dict;
    if (is_transform(t) || t.device().type != DeviceType::CPU || t.requires_grad() ||
        (dict && PyDict_GET_SIZE(dict)))
      throw Unknown{};
    if (const auto [known, fresh] = tensors_.try_emplace(o, uint32_t(tensors_.size())); !fresh) {
      put(Tag::Again);
      return put(known->second);
    }
    const Storage& storage = *t.storage();
    Ref<SharedBlock> block = shared_block(storage);
    if (block.get()) {
      if (knows(*block)) return placed(t, *block);
    } else {
      const bool whole =
          t.is_contiguous() && size_t(t.numel()) * itemsize(t.dtype()) == storage.bytes();
      const auto [copied, fresh] = copied_.try_emplace(&storage, false);
      if (copied->second) copied_shared_ = true;
      if (copies_ && fresh && whole && storage.bytes() <= kCopiedBytes) {
        copied->second = true;
        put(Tag::Copied);
        geometry(t);
        return bytes(static_cast<const char*>(storage.data()), storage.bytes());
      }
    }
    if (!t.numel()) throw Unknown{};
    kept_.emplace_back(must(PyObject_CallOneArg(share_, o)));
    if (!is_tensor(kept_.back().get())) throw Unknown{};
    const Tensor& shared = as_tensor(kept_.back().get());
    block = shared_block(*shared.storage());
    check(block.get() && knows(*block), "_encode_batch: share gave a tensor that is not shared");
    placed(shared, *block);
  }

  bool knows(const SharedBlock& block) const {
    Object address(must(PyLong_FromVoidPtr(block.data())));
    const int found = PyDict_Contains(known_, address.get());
    must(found);
    return found;
  }

  void placed(const Tensor& t, const SharedBlock& block) {
    put(Tag::Placed);
    geometry(t);
    for (int64_t stride : t.strides()) put(stride);
    put(t.offset());
    const Storage& storage = *t.storage();
    for (size_t i = 0; i < places_.size(); i++)
      if (places_[i].first == storage.data() && places_[i].second == storage.bytes())
        return put(uint32_t(i));
    put(uint32_t(places_.size()));
    places_.emplace_back(storage.data(), storage.bytes());
    size_t number = 0;
    while (number < blocks_.size() && blocks_[number] != block.data()) number++;
    if (number == blocks_.size()) blocks_.push_back(block.data());
    put(uint32_t(number));
    put(int64_t(static_cast<const char*>(storage.data()) - block.data()));
    put(int64_t(storage.bytes()));
  }

  PyObject *known_, *share_;
  bool copies_;
  bool copied_shared_ = false;  // a storage that was copied has another tensor
  std::string out_;
  std::vector<const void*> blocks_;
  std::vector<std::pair<const void*, size_t>> places_;
  std::unordered_map<PyObject*, uint32_t> tensors_;
  std::unordered_map<const Storage*, bool> copied_;  // those outside of shared memory
  std::vector<Object> kept_;                         // what `share` gave
};

class Reader {
 public:
  Reader(const char* begin, size_t size, PyObject* blocks)
      : at_(begin), end_(begin + size), blocks_(blocks) {}

  PyObject* value(int depth = 0) {
    check(depth <= kDepth, "_decode_batch: too deep");
    switch (take<Tag>()) {
      case Tag::None:
        return incref(Py_None);
      case Tag::True:
        return incref(Py_True);
      case Tag::False:
        return incref(Py_False);
      case Tag::Int:
        return must(PyLong_FromLongLong(take<long long>()));
      case Tag::Float:
        return must(PyFloat_FromDouble(take<double>()));
      case Tag::Text: {
        const auto [data, size] = bytes();
        return must(PyUnicode_DecodeUTF8(data, size, nullptr));
      }
      case Tag::Bytes: {
        const auto [data, size] = bytes();
        return must(PyBytes_FromStringAndSize(data, size));
      }
      case Tag::Tuple: {
        const auto size = count();
        Object out(must(PyTuple_New(size)));
        for (Py_ssize_t i = 0; i < size; i++) PyTuple_SET_ITEM(out.get(), i, value(depth + 1));
        return out.release();
      }
      case Tag::List: {
        const auto size = count();
        Object out(must(PyList_New(size)));
        for (Py_ssize_t i = 0; i < size; i++) PyList_SET_ITEM(out.get(), i, value(depth + 1));
        return out.release();
      }
      case Tag::Dict: {
        Object out(must(PyDict_New()));
        for (auto left = count(); left; left--) {
          Object key(value(depth + 1));
          Object item(value(depth + 1));
          must(PyDict_SetItem(out.get(), key.get(), item.get()));
        }
        return out.release();
      }
      case Tag::Copied:
        return keep(copied());
      case Tag::Placed:
        return keep(placed());
      case Tag::Again: {
        const auto number = take<uint32_t>();
        check(number < tensors_.size(), "_decode_batch: no tensor ", number);
        return incref(tensors_[number].get());
      }
    }
    check(false, "_decode_batch: unknown tag");
    return nullptr;
  }

  bool done() const { return at_ == end_; }

 private:
  const char* skip(size_t size) {
    check(size_t(end_ - at_) >= size, "_decode_batch: the message ends early");
    const char* p = at_;
    at_ += size;
    return p;
  }
  template <class T>
  T take() {
    T v;
    std::memcpy(&v, skip(sizeof v), sizeof v);
    return v;
  }
  // How many things of a byte or more follow.
  Py_ssize_t count() {
    const auto n = take<int64_t>();
    check(n >= 0 && n <= end_ - at_, "_decode_batch: the message ends early");
    return n;
  }
  std::pair<const char*, Py_ssize_t> bytes() {
    const auto size = count();
    return {skip(size_t(size)), size};
  }
  DType dtype() {
    const auto number = take<uint8_t>();
    check(number < kAllDTypes, "_decode_batch: no dtype ", int(number));
    return DType(number);
  }
  Dims dims(size_t n) {
    Dims out(n, 0);
    for (auto& size : out) {
      size = take<int64_t>();
      check(size >= 0, "_decode_batch: a size below 0");
    }
    return out;
  }
  PyObject* keep(const Tensor& t) {
    tensors_.emplace_back(wrap(t));
    return incref(tensors_.back().get());
  }

  Tensor copied() {
    const DType type = dtype();
    const Dims sizes = dims(take<uint8_t>());
    const Py_ssize_t size = count();
    check(storage_bytes(sizes, contiguous_strides(sizes), 0, itemsize(type)) == size,
          "_decode_batch: a tensor of another size");
    Tensor t = empty(sizes, type);
    if (size) std::memcpy(t.storage()->data(), skip(size_t(size)), size_t(size));
    return t;
  }

  Tensor placed() {
    const DType type = dtype();
    const size_t dim = take<uint8_t>();
    const Dims sizes = dims(dim), strides = dims(dim);
    const auto offset = take<int64_t>();
    const auto place = take<uint32_t>();
    if (place == places_.size()) {
      const auto number = take<uint32_t>();
      const auto begin = take<int64_t>(), size = take<int64_t>();
      check(number < size_t(PyTuple_GET_SIZE(blocks_)) && begin >= 0 && size >= 0,
            "_decode_batch: no such block");
      places_.push_back(SharedBlock::storage(block_of(PyTuple_GET_ITEM(blocks_, number)),
                                             size_t(begin), size_t(size)));
    }
    check(place < places_.size() && offset >= 0 &&
              storage_bytes(sizes, strides, offset, itemsize(type)) <=
                  int64_t(places_[place]->bytes()),
          "_decode_batch: a tensor beyond its memory");
    return from_storage(places_[place], sizes, strides, offset, type);
  }

  const char *at_, *end_;
  PyObject* blocks_;
  std::vector<Ref<Storage>> places_;
  std::vector<Object> tensors_;
};

// _encode_batch(data, known, share): (bytes, addresses of the blocks that its tensors lie in), or
// None
PyObject* encode(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *data, *known, *share;
    if (!PyArg_ParseTuple(args, "OO!O", &data, &PyDict_Type, &known, &share)) return nullptr;
    try {
      std::optional<Writer> writer(std::in_place, known, share, true);
      writer->value(data);
      if (writer->copied_shared()) {
        // Tensors of one small storage: only in a block do they share it.
        writer.emplace(known, share, false);
        writer->value(data);
      }
      Object addresses(must(PyTuple_New(Py_ssize_t(writer->blocks().size()))));
      for (size_t i = 0; i < writer->blocks().size(); i++)
        PyTuple_SET_ITEM(addresses.get(), i,
                         must(PyLong_FromVoidPtr(const_cast<void*>(writer->blocks()[i]))));
      const std::string& out = writer->out();
      return must(Py_BuildValue("y#O", out.data(), Py_ssize_t(out.size()), addresses.get()));
    } catch (const Unknown&) {
      Py_RETURN_NONE;
    }
  });
}

// _decode_batch(bytes, blocks): the data
PyObject* decode(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    Py_buffer bytes;
    PyObject* blocks;
    if (!PyArg_ParseTuple(args, "y*O!", &bytes, &PyTuple_Type, &blocks)) return nullptr;
    struct Release {
      Py_buffer* b;
      ~Release() { PyBuffer_Release(b); }
    } release{&bytes};
    Reader reader(static_cast<const char*>(bytes.buf), size_t(bytes.len), blocks);
    Object out(reader.value());
    check(reader.done(), "_decode_batch: the message is longer than its data");
    return out.release();
  });
}

// _shared_empty(block, offset, sizes, dtype): a contiguous tensor on a part of a block
PyObject* shared_empty(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *block, *sizes, *dtype;
    Py_ssize_t offset;
    if (!PyArg_ParseTuple(args, "OnO!O", &block, &offset, &PyTuple_Type, &sizes, &dtype))
      return nullptr;
    Dims s;
    int64_t count = 1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes); i++) {
      s.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, i)));
      if (PyErr_Occurred()) return nullptr;
      count *= s.back();
    }
    const DType t = as_dtype(dtype);
    auto storage =
        SharedBlock::storage(block_of(block), size_t(offset), size_t(count) * itemsize(t));
    return wrap(from_storage(storage, s, contiguous_strides(s), 0, t));
  });
}

PyMethodDef functions[] = {{"_encode_batch", encode, METH_VARARGS, nullptr},
                           {"_decode_batch", decode, METH_VARARGS, nullptr},
                           {"_shared_empty", shared_empty, METH_VARARGS, nullptr},
                           {}};

}  // namespace

void add_batch(PyObject* module) { must(PyModule_AddFunctions(module, functions)); }

}  // namespace flambeau::bind
