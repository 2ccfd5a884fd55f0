//===- TfmOps.td - All operations of tfm -------------------*- tablegen -*-===//

include "dialect/AttentionOps.td"
include "dialect/CacheOps.td"
include "dialect/EmbeddingOps.td"
include "dialect/FfnOps.td"
include "dialect/KernelOps.td"
include "dialect/MaskOps.td"
include "dialect/NormOps.td"
include "dialect/QuantizationOps.td"
include "dialect/StorageOps.td"
