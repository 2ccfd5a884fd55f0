//===- TfmDialect.td - The Transformer dialect -------------*- tablegen -*-===//
//
// The dialect itself and the base classes of its operations, types and
// attributes. Operations stand in one file per family.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_DIALECT_TD
#define TFM_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tfm_Dialect : Dialect {
  let name = "tfm";
  let cppNamespace = "::mlir::tfm";
  let summary = "Transformers as their papers write them";
  let description = [{
    Operations on tensors in the words of the Transformer literature. Shapes
    are written in one alphabet everywhere:

    | letter | meaning |
    |---|---|
    | B | batch |
    | H, G | query heads, key/value heads (H is a multiple of G) |
    | S, T | query length, key length |
    | D | head size |
    | E, F | model size, feed-forward size |
    | V | vocabulary |
    | R | rows: batch and length as one dimension, R = B·S |
    | N, K | outputs and inputs of a linear map |

    Masks have element type i1 where **1 keeps and 0 masks**. A masked position
    is excluded from the softmax; a row with everything masked gives zeros,
    never NaN. Scores, softmax and sums are f32 at least, whatever the storage.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

class Tfm_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tfm_Dialect, mnemonic, traits>;

/// An operation whose result type follows from its operands. Results may be
/// written with fewer known dimensions than are inferred; `tfm-infer-shapes`
/// fills them in.
class Tfm_ValueOp<string mnemonic, list<Trait> traits = []>
    : Tfm_Op<mnemonic, traits # [Pure, InferTypeOpAdaptorBase<[{
        static bool isCompatibleReturnTypes(::mlir::TypeRange inferred,
                                            ::mlir::TypeRange actual) {
          return ::mlir::tfm::areCompatible(inferred, actual);
        }
      }]>]>;

class Tfm_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<Tfm_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

class Tfm_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Tfm_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

#endif // TFM_DIALECT_TD
