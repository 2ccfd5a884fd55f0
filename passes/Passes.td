//===- Passes.td - How IR is rewritten ---------------------*- tablegen -*-===//
//
// One file per pass; Pipelines.cpp says in which order they run.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_PASSES_TD
#define TFM_PASSES_TD

include "mlir/Pass/PassBase.td"

def InferShapesPass : Pass<"tfm-infer-shapes", "::mlir::func::FuncOp"> {
  let summary = "fills in dimensions that follow from the operands";
  let description = [{
    Before: any function of tfm operations. After: no result has a dimension
    unknown that its operands' types determine, and the function's result types
    are those of what it returns. Dimensions that are known stay as they are.

    See test/passes/infer-shapes.mlir.
  }];
  let statistics = [
    Statistic<"numRefined", "num-refined", "results with a more exact type">];
}

def FuseAttentionPass : Pass<"tfm-fuse-attention", "::mlir::func::FuncOp"> {
  let summary = "makes one operation of scores, scale, mask, softmax and mix";
  let description = [{
    Before: any function of tfm operations. Products of matrices and repeated
    heads first become `scores` and `mix`, as canonicalization makes of them.
    `dropout` vanishes. Then `mix(softmax(x), v)`, where x comes from
    `scores(q, k)` through any sequence of `scale`, `add_bias`, `add` and
    `apply_mask`, becomes `attention`:

    - its scale is the product of the factors on the scores, the query and the
      key, where those of the query or the key may stand before `split_heads`
      or `rope`;
    - a mask becomes the attribute `causal` if it provably is t <= s over the S
      and T of the scores: a `causal_mask`, or a `tensor.generate` whose
      condition is a comparison of sums of indices, lengths and constants; a
      `window_mask` over S and T becomes the attribute `window`. They may be
      part of a `mask_and`. Other masks become the operand, several as their
      `mask_and`, with a remark if one is of those kinds;
    - what is added becomes the bias, multiplied by the factors after it. Like
      that of `add_bias` it must be finite or −infinity.

    After: the steps of every attention that is fused have vanished. Declines,
    with a remark at the mix that says why, when:

    - an inner value has other uses;
    - a factor after a mask or bias is not greater than 0, since it would turn
      −infinity around or make NaN of it;
    - the product of all factors is not finite;
    - two masks have different shapes, or there are two biases;
    - key and value may have different numbers of heads;
    - something else stands before the softmax.

    See test/passes/fuse-attention.mlir and fuse-attention-negative.mlir.
  }];
  let statistics = [
    Statistic<"numFused", "num-fused", "attentions fused">];
  let dependentDialects = ["::mlir::tfm::TfmDialect"];
}

def FuseFfnPass : Pass<"tfm-fuse-ffn", "::mlir::func::FuncOp"> {
  let summary = "makes one operation of a feed-forward network";
  let description = [{
    Rewrites `linear(activation(linear(x)))` and
    `linear(mul(activation(linear(x)), linear(x)))` to `ffn`. Declines, with a
    remark at the last map that says why, when an inner value has other uses, or the activation or the gate reads something else than a
    linear map of x.

    See test/passes/fuse-ffn.mlir and fuse-ffn-negative.mlir.
  }];
  let statistics = [
    Statistic<"numFused", "num-fused", "feed-forward networks fused">];
  let dependentDialects = ["::mlir::tfm::TfmDialect"];
}

def InsertKvCachePass : Pass<"tfm-insert-kv-cache", "::mlir::ModuleOp"> {
  let summary = "turns a decoder's @forward into @prefill, @decode and @score";
  let description = [{
    Before: `@forward(tokens: [B, S]) -> [B, S, V]`, its attention fused. After:
    three functions of tokens and a cache that may already hold positions, each
    of which appends S more:

    - `@prefill`: logits of the last row of each sample, [B, V];
    - `@decode`: the same for S = 1;
    - `@score`: logits of all rows, [B, S, V].

    Row s of sample b stands at lengths[b] + s: `rope` gets the lengths as
    offsets, `attention` becomes `cache_append` and `cache_attention`, with its
    window.

    The criterion:

    - every `attention` is causal, without a mask or a bias, over keys and
      values with the same known heads and head sizes;
    - everything else works on each position for itself. `rope` without offsets
      counts as such, a weight with rows for positions does not;
    - the function has one block, one input of tokens, of any S, and one result
      [B, S, V] of a known V;
    - nothing else uses the function, nor the name of a new one.

    A function that does not meet it is left as it is, with a remark that says
    why.

    See test/passes/insert-kv-cache.mlir and insert-kv-cache-negative.mlir.
  }];
  let options = [
    Option<"element", "element", "std::string", /*default=*/"\"f16\"",
           "element type of the cache: f16 or f32">];
  let statistics = [
    Statistic<"numCached", "num-cached", "attentions that got a cache">];
  let dependentDialects = ["::mlir::tfm::TfmDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def QuantizeActivationsPass
    : Pass<"tfm-quantize-activations", "::mlir::func::FuncOp"> {
  let summary = "turns products with block-quantized weights into integer ones";
  let description = [{
    Rewrites `linear` with a block-quantized weight to `quantize` and
    `quantized_linear`; maps with the same input share one `quantize`. An `ffn`
    with such weights is expanded first. A bias is added afterwards.

    See test/passes/quantize-activations.mlir.
  }];
  let statistics = [
    Statistic<"numQuantized", "num-quantized", "maps made integer">];
  let dependentDialects = ["::mlir::tfm::TfmDialect"];
}

def OutlineKernelsPass : Pass<"tfm-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "moves work into kernels that are launched in tiles";
  let description = [{
    Before: functions of tfm operations on tensors. After: the functions hold
    `launch`, `load`, cache bookkeeping and shape arithmetic only.

    A kernel is one operation that reads whole rows (a linear map, a norm,
    attention) with what can be computed tile by tile along with it: the
    elementwise operations after it, the relayouts (`split_heads`, `rope`)
    before it, two linear maps of one input that an elementwise operation joins.
    Leading dimensions of row-wise kernels are flattened, [B, S, E] to [R, E].
    Kernels with equal bodies are one kernel.

    See test/passes/outline-kernels.mlir.
  }];
  let statistics = [
    Statistic<"numLaunches", "num-launches", "launches">,
    Statistic<"numKernels", "num-kernels", "different kernels">];
  let dependentDialects = ["::mlir::tfm::TfmDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def PackWeightsPass : Pass<"tfm-pack-weights", "::mlir::ModuleOp"> {
  let summary = "stores weights in the order in which kernels read them";
  let description = [{
    Every matrix that a launch loads becomes its packed parts (`unpack` says in
    which order their elements stand); the kernel takes the parts and unpacks
    them. Then every loaded weight gets its placement, a multiple of 64, in the
    executable's weight section.

    See test/passes/pack-weights.mlir.
  }];
  let statistics = [
    Statistic<"numPacked", "num-packed", "weights packed">];
  let dependentDialects = ["::mlir::tfm::TfmDialect"];
}

def PlanMemoryPass : Pass<"tfm-plan-memory", "::mlir::ModuleOp"> {
  let summary = "gives every temporary its place in one arena";
  let description = [{
    Before: functions of `launch` on tensors. After: buffers. Results other than
    caches become trailing arguments, marked `tfm.result`, and every temporary is
    a view of the last
    argument, the arena. A temporary's size is c · B · S, c · B or c bytes,
    where B and S are the first dimensions of the first argument; any other size
    is an error. Temporaries of one kind share a part of the arena, and two of
    them share bytes only if no launch needs both. `tfm.arena` on the function is
    the size of the whole as a formula.

    See test/passes/plan-memory.mlir and plan-memory-errors.mlir.
  }];
  let statistics = [
    Statistic<"numTemporaries", "num-temporaries", "temporaries">];
  let dependentDialects = ["::mlir::tfm::TfmDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // TFM_PASSES_TD
