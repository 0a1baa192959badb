// Convolution by oneDNN. Its primitives are made for one thread and run inside our pool, each on
// some of the images or, of a single image, on some of the output rows; no OpenMP thread ever
// starts.
#include "kernels/conv_geometry.h"

#if defined(FLAMBEAU_HAVE_ONEDNN)
#include <dnnl.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "kernels/pointwise.h"
#include "runtime/allocator.h"
#include "runtime/parallel.h"

extern "C" {
int omp_get_max_threads() __attribute__((weak));
void omp_set_num_threads(int) __attribute__((weak));
}

namespace flambeau {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

// oneDNN asks OpenMP for the number of threads, when it makes a primitive and when it runs one.
struct OneThread {
  int before = omp_get_max_threads ? omp_get_max_threads() : 1;
  OneThread() {
    if (before != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before != 1) omp_set_num_threads(before);
  }
};

dnnl::engine& engine() {
  static dnnl::engine e(dnnl::engine::kind::cpu, 0);
  return e;
}
dnnl::stream& stream() {
  static thread_local dnnl::stream s(engine());
  return s;
}

// Scratch memory from the caching allocator.
struct Buffer {
  size_t bytes;
  void* data;
  explicit Buffer(size_t n) : bytes(n), data(n ? allocate(n) : nullptr) {}
  ~Buffer() {
    if (data) deallocate(data, bytes);
  }
  Buffer(const Buffer&) = delete;
  void* at(size_t offset) const { return static_cast<char*>(data) + offset; }
};

// A part of the problem that one thread runs: images [image, image + g.batch), rows from in_row and
// out_row.
struct Part {
  ConvGeometry g;
  int64_t image = 0, in_row = 0, out_row = 0;
};

using Key = std::vector<int64_t>;

struct Primitive {
  dnnl::primitive run;
  memory::desc x, w, y, scratch;        // what it works on
  memory::desc user_x, user_w, user_y;  // what the tensors hold
};

class Layouts {
 public:
  Layouts(int rank, const Tensor& x, const Tensor& w, const Tensor& y)
      : spatial(rank == 3 ? 3 : 2), x_(dense(x)), y_(dense(y)), w_(&w) {}
  const int spatial;
  bool x_last() const { return x_; }
  bool y_last() const { return y_; }

  memory::dims activation(const ConvGeometry& g, bool input) const {
    memory::dims d{g.batch, input ? g.in_channels : g.out_channels};
    for (int i = 3 - spatial; i < 3; i++) d.push_back(input ? g.in[i] : g.out[i]);
    return d;
  }
  memory::dims weight(const ConvGeometry& g) const {
    memory::dims d;
    if (g.groups > 1) d.push_back(g.groups);
    d.push_back(g.out_channels / g.groups);
    d.push_back(g.in_channels / g.groups);
    for (int i = 3 - spatial; i < 3; i++) d.push_back(g.kernel[i]);
    return d;
  }
  Tag last() const { return spatial == 3 ? Tag::ndhwc : Tag::nhwc; }
  // A part of a tensor whose planes are `full` high.
  memory::desc user_activation(const ConvGeometry& part, const ConvGeometry& whole,
                               bool input) const {
    memory::dims d = activation(part, input);
    if (input ? x_ : y_) return {d, memory::data_type::f32, last()};
    memory::dims strides(d.size());
    const int64_t* planes = input ? whole.in : whole.out;
    int64_t step = 1;
    for (int i = 2; i >= 3 - spatial; i--) {
      strides[size_t(i - (3 - spatial) + 2)] = step;
      step *= planes[i];
    }
    strides[1] = step;
    strides[0] = step * d[1];
    return {d, memory::data_type::f32, strides};
  }
  memory::desc user_weight(const ConvGeometry& g) const {
    memory::dims d = weight(g), strides;
    const auto& s = w_->strides();
    const size_t lead = size_t(spatial) + 2 - s.size();  // a 1-d filter is one row
    if (g.groups > 1) strides.push_back(s[0] * (g.out_channels / g.groups));
    strides.push_back(s[0]);
    strides.push_back(s[1]);
    for (size_t i = 0; i < size_t(spatial); i++)
      strides.push_back(i < lead ? s[1] : s[i - lead + 2]);
    return {d, memory::data_type::f32, strides};
  }

 private:
  static bool dense(const Tensor& t) { return !t.is_contiguous(); }
  bool x_, y_;
  const Tensor* w_;
};

memory::desc any(const memory::dims& d) { return {d, memory::data_type::f32, Tag::any}; }

// Padding at the end, so that the last output just reads the last input (or the border).
int64_t end_padding(const ConvGeometry& g, int d) {
  return std::max<int64_t>(0, (g.out[d] - 1) * g.stride[d] + g.dilation[d] * (g.kernel[d] - 1) + 1 -
                                  g.in[d] - g.padding[d]);
}

Primitive make(ConvPass pass, const ConvGeometry& g, const ConvGeometry& whole, const Layouts& l,
               bool bias) {
  using namespace dnnl;
  Primitive p;
  p.user_x = l.user_activation(g, whole, true);
  p.user_y = l.user_activation(g, whole, false);
  p.user_w = l.user_weight(g);
  // channels-last operands are used as they are, except where gradients of weights want blocks; few
  // channels too
  const bool keep = pass != ConvPass::Weight || g.in_channels == 1;
  const memory::desc x = l.x_last() && keep ? p.user_x : any(l.activation(g, true));
  const memory::desc y = l.y_last() && keep ? p.user_y : any(l.activation(g, false)),
                     w = any(l.weight(g));
  memory::dims stride, dilation, before, after;
  for (int d = 3 - l.spatial; d < 3; d++) {
    stride.push_back(g.stride[d]);
    dilation.push_back(g.dilation[d] - 1);
    before.push_back(g.padding[d]);
    after.push_back(end_padding(g, d));
  }
  primitive_attr attr;
  attr.set_scratchpad_mode(scratchpad_mode::user);
  const auto direct = algorithm::convolution_direct;
  const auto kind =
      pass == ConvPass::Output ? prop_kind::forward_inference : prop_kind::forward_training;
  const memory::desc b =
      bias ? memory::desc({g.out_channels}, memory::data_type::f32, Tag::x) : memory::desc();
  convolution_forward::primitive_desc forward(engine(), kind, direct, x, w, b, y, stride, dilation,
                                              before, after, attr);
  auto keep_descs = [&](const memory::desc& dx, const memory::desc& dw, const memory::desc& dy,
                        const memory::desc& scratch) {
    p.x = dx;
    p.w = dw;
    p.y = dy;
    p.scratch = scratch;
  };
  if (pass == ConvPass::Output) {
    p.run = convolution_forward(forward);
    keep_descs(forward.src_desc(), forward.weights_desc(), forward.dst_desc(),
               forward.scratchpad_desc());
  } else if (pass == ConvPass::Input) {
    convolution_backward_data::primitive_desc d(engine(), direct, x, w, y, stride, dilation, before,
                                                after, forward, attr);
    p.run = convolution_backward_data(d);
    keep_descs(d.diff_src_desc(), d.weights_desc(), d.diff_dst_desc(), d.scratchpad_desc());
  } else {
    convolution_backward_weights::primitive_desc d(engine(), direct, x, w, y, stride, dilation,
                                                   before, after, forward, attr);
    p.run = convolution_backward_weights(d);
    keep_descs(d.src_desc(), d.diff_weights_desc(), d.diff_dst_desc(), d.scratchpad_desc());
  }
  return p;
}

// Primitives by shape; null where the library has none.
std::shared_ptr<Primitive> primitive(ConvPass pass, const ConvGeometry& g,
                                     const ConvGeometry& whole, const Layouts& l, const Tensor& w,
                                     bool bias) {
  static std::mutex lock;
  static std::map<Key, std::shared_ptr<Primitive>> made;
  Key key{int64_t(pass), l.spatial,     l.x_last(),     l.y_last(), bias,
          g.batch,       g.in_channels, g.out_channels, g.groups};
  for (int d = 0; d < 3; d++)
    for (int64_t v : {g.in[d], g.out[d], whole.in[d], whole.out[d], g.kernel[d], g.stride[d],
                      g.padding[d], g.dilation[d]})
      key.push_back(v);
  for (int64_t s : w.strides()) key.push_back(s);
  std::lock_guard guard(lock);
  auto found = made.find(key);
  if (found != made.end()) return found->second;
  if (made.size() >= 1024) made.clear();  // varying shapes must not grow it for ever
  std::shared_ptr<Primitive> p;
  OneThread scope;
  try {
    p = std::make_shared<Primitive>(make(pass, g, whole, l, bias));
  } catch (const dnnl::error&) {
  }
  return made[key] = p;
}

// Rows along this axis are whole blocks of a channels-last array: the first spatial axis that is
// not flat.
int split_axis(const ConvGeometry& g, int spatial) {
  const int first = 3 - spatial;
  return spatial == 2 && g.in[first] == 1 && g.out[first] == 1 ? 2 : first;
}

// The problem in parts of equal rights, a function of the shape alone.
std::vector<Part> parts_of(ConvPass pass, const ConvGeometry& g, int spatial) {
  const int64_t wanted = g.flops() < 1e6 ? 1
                         : pass == ConvPass::Weight
                             ? (g.out_channels * g.columns() > 400000 ? 2 : 4)
                             : 8;
  std::vector<Part> parts;
  if (g.batch > 1) {
    const int64_t n = std::min(g.batch, wanted);
    for (int64_t i = 0; i < n; i++) {
      Part p{g};
      p.image = g.batch * i / n;
      p.g.batch = g.batch * (i + 1) / n - p.image;
      parts.push_back(p);
    }
    return parts;
  }
  const int row = split_axis(g, spatial);
  const bool by_input = pass == ConvPass::Input;
  const int64_t rows = by_input ? g.in[row] : g.out[row];
  const int64_t n = by_input && g.stride[row] > 1
                        ? 1
                        : std::clamp<int64_t>(rows / 4, 1, std::min<int64_t>(wanted, 4));
  const int64_t reach = g.dilation[row] * (g.kernel[row] - 1);
  for (int64_t i = 0; i < n; i++) {
    Part p{g};
    int64_t begin = rows * i / n, end = rows * (i + 1) / n;
    if (n > 1) {
      // input rows [i0, i1) meet output rows [o0, o1)
      int64_t i0, i1, o0, o1;
      if (by_input) {
        i0 = begin, i1 = end;
        o0 = std::clamp<int64_t>(i0 + g.padding[row] - reach, 0, g.out[row]);
        o1 = std::clamp<int64_t>(i1 + g.padding[row], o0, g.out[row]);
      } else {
        o0 = begin, o1 = end;
        i0 = std::clamp<int64_t>(o0 * g.stride[row] - g.padding[row], 0, g.in[row]);
        i1 = std::clamp<int64_t>((o1 - 1) * g.stride[row] - g.padding[row] + reach + 1, i0,
                                 g.in[row]);
      }
      p.in_row = i0;
      p.out_row = o0;
      p.g.padding[row] = g.padding[row] + i0 - o0 * g.stride[row];
      p.g.in[row] = i1 - i0;
      p.g.out[row] = o1 - o0;
      if (i1 == i0 || o1 == o0 || p.g.padding[row] < 0) return {Part{g}};
    }
    parts.push_back(p);
  }
  return parts;
}

// Where a part of a tensor begins.
float* start(const Tensor& t, const ConvGeometry& whole, const Part& part, int spatial,
             bool input) {
  const int row = split_axis(whole, spatial);
  const int64_t first = input ? part.in_row : part.out_row,
                channels = input ? whole.in_channels : whole.out_channels;
  const int64_t* planes = input ? whole.in : whole.out;
  int64_t line = 1;
  for (int d = row + 1; d < 3; d++) line *= planes[d];
  const int64_t image = channels * planes[0] * planes[1] * planes[2];
  return t.data<float>() + part.image * image + first * line * (t.is_contiguous() ? 1 : channels);
}

memory at(const memory::desc& d, void* p) { return memory(d, engine(), p); }

void reorder(const memory& from, const memory& to) {
  dnnl::reorder(from, to).execute(stream(), const_cast<memory&>(from), const_cast<memory&>(to));
}

// The user's array itself, or scratch memory in the primitive's layout.
struct Array {
  memory user, used;
  std::unique_ptr<Buffer> buffer;
  Array(const memory::desc& user_desc, const memory::desc& desc, void* p) : user(at(user_desc, p)) {
    if (user_desc == desc) {
      used = user;
    } else {
      buffer = std::make_unique<Buffer>(desc.get_size());
      used = at(desc, buffer->data);
    }
  }
  void load() const {
    if (buffer) reorder(user, used);
  }
  void store() const {
    if (buffer) reorder(used, user);
  }
};

// Weights in the primitive's layout, output channels shared out over threads where they are whole
// blocks.
void pack(const memory& user, const memory& packed, int64_t channels, bool groups) {
  constexpr int64_t kBlock = 64;
  const bool large = user.get_desc().get_size() > (1 << 18);
  if (groups || !large || channels % kBlock) return reorder(user, packed);
  try {
    parallel_for(channels / kBlock, 1, [&](int64_t begin, int64_t end) {
      OneThread scope;
      memory::dims sizes = user.get_desc().get_dims(), offsets(sizes.size(), 0);
      sizes[0] = (end - begin) * kBlock;
      offsets[0] = begin * kBlock;
      reorder(at(user.get_desc().submemory_desc(sizes, offsets), user.get_data_handle()),
              at(packed.get_desc().submemory_desc(sizes, offsets), packed.get_data_handle()));
    });
  } catch (const dnnl::error&) {
    reorder(user, packed);
  }
}

void add_up(float* total, const float* more, int64_t n) {
  parallel_for(n, 1 << 15, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) total[i] += more[i];
  });
}

bool enabled() {
  static const bool on = [] {
    const char* off = std::getenv("FLAMBEAU_NO_ONEDNN");
    return !off || !*off || *off == '0';
  }();
  return on;
}

}  // namespace

bool onednn_conv(ConvPass pass, const ConvGeometry& g, int rank, const Tensor& x, const Tensor& w,
                 const Tensor* bias, const Tensor& y) {
  if (!enabled()) return false;
  const Layouts layouts(rank, x, w, y);
  std::vector<Part> parts = parts_of(pass, g, layouts.spatial);
  std::vector<std::shared_ptr<Primitive>> made;
  for (auto& part : parts) {
    made.push_back(primitive(pass, part.g, g, layouts, w, bias != nullptr));
    if (!made.back()) return false;
  }
  LongWork work(g.flops() > 1e6);
  OneThread outer;
  const memory::desc& weights = made[0]->w;
  const bool gradient = pass == ConvPass::Weight,
             same_weights =
                 std::all_of(made.begin(), made.end(), [&](auto& m) { return m->w == weights; });
  if (!same_weights) return false;
  Array filter(made[0]->user_w, weights, w.data<float>());
  if (!gradient && filter.buffer) pack(filter.user, filter.used, g.out_channels, g.groups > 1);
  const size_t weight_bytes = (weights.get_size() + 63) / 64 * 64;
  Buffer partial(gradient ? weight_bytes * (parts.size() - 1) : 0);
  auto run = [&](int64_t i) {
    OneThread scope;
    const Primitive& p = *made[size_t(i)];
    Array in(p.user_x, p.x, start(x, g, parts[size_t(i)], layouts.spatial, true));
    Array out(p.user_y, p.y, start(y, g, parts[size_t(i)], layouts.spatial, false));
    Buffer scratch(p.scratch.get_size());
    memory s = at(p.scratch, scratch.data);
    std::unordered_map<int, memory> args{{DNNL_ARG_SCRATCHPAD, s}};
    if (pass != ConvPass::Input) in.load();
    if (pass != ConvPass::Output) out.load();
    if (pass == ConvPass::Output) {
      args.insert(
          {{DNNL_ARG_SRC, in.used}, {DNNL_ARG_WEIGHTS, filter.used}, {DNNL_ARG_DST, out.used}});
      if (bias)
        args.insert(
            {{DNNL_ARG_BIAS, at(memory::desc({g.out_channels}, memory::data_type::f32, Tag::x),
                                bias->data<float>())}});
    } else if (pass == ConvPass::Input) {
      args.insert({{DNNL_ARG_DIFF_SRC, in.used},
                   {DNNL_ARG_WEIGHTS, filter.used},
                   {DNNL_ARG_DIFF_DST, out.used}});
    } else {
      memory dw = i == 0 ? filter.used : at(weights, partial.at(size_t(i - 1) * weight_bytes));
      args.insert(
          {{DNNL_ARG_SRC, in.used}, {DNNL_ARG_DIFF_WEIGHTS, dw}, {DNNL_ARG_DIFF_DST, out.used}});
    }
    p.run.execute(stream(), args);
    if (pass == ConvPass::Input) in.store();
    if (pass == ConvPass::Output) out.store();
  };
  parallel_for(int64_t(parts.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) run(i);
  });
  if (gradient) {
    for (size_t i = 1; i < parts.size(); i++)
      add_up(static_cast<float*>(filter.used.get_data_handle()),
             static_cast<const float*>(partial.at((i - 1) * weight_bytes)),
             int64_t(weights.get_size() / sizeof(float)));
    filter.store();
  }
  return true;
}

}  // namespace flambeau

#else

namespace flambeau {
bool onednn_conv(ConvPass, const ConvGeometry&, int, const Tensor&, const Tensor&, const Tensor*,
                 const Tensor&) {
  return false;
}
}  // namespace flambeau

#endif
