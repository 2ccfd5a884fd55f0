//===- KernelOps.td - Outlined work ------------------------*- tablegen -*-===//

#ifndef TFM_KERNEL_OPS_TD
#define TFM_KERNEL_OPS_TD

include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "dialect/TfmTypes.td"

def Tfm_KernelOp : Tfm_Op<"kernel", [
    FunctionOpInterface, IsolatedFromAbove]> {
  let summary = "a piece of work that one machine function does";
  let description = [{
    The body stays on tensors: code generation and the interpreter read it.
    Weights are arguments, so that identical layers share a kernel. A cache that
    the kernel updates is an argument and a result.

    Example:

    ```mlir
    tfm.kernel @residual(%x: tensor<?x576xf32>, %y: tensor<?x576xf32>) -> tensor<?x576xf32> {
      %z = tfm.add %x, %y : tensor<?x576xf32>
      tfm.yield %z : tensor<?x576xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::mlir::tfm::YieldOp getYield();
  }];
}

def Tfm_YieldOp : Tfm_Op<"yield", [
    Pure, Terminator, ReturnLike, HasParent<"KernelOp">]> {
  let summary = "the results of a kernel";
  let description = [{
    Rules:
    - `yield-c1`: the operands have the types of the kernel's results.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

def Tfm_LaunchOp : Tfm_Op<"launch", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "runs a kernel, tile by tile";
  let description = [{
    Destination-passing: result i takes the place of `outs` i. The kernel's
    arguments are the inputs, followed by those outs that are caches, which it
    reads and updates in place.

    `tile` cuts the leading dimensions of every out into tiles that run in any
    order and at the same time; 0 leaves a dimension whole. A cache counts as
    [B, G]. On buffers the operation has no results.

    Rules:
    - `launch-c1`: the symbol is a `tfm.kernel`.
    - `launch-c2`: inputs and outs match the kernel's arguments and results.
    - `launch-c3`: the tile has at most as many dimensions as each out.

    Example:

    ```mlir
    %y = tfm.launch @residual(%a, %b) outs(%init) tile [8, 0] : (tensor<?x576xf32>, tensor<?x576xf32>) outs (tensor<?x576xf32>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$inputs,
                       Variadic<AnyType>:$outs, DenseI64ArrayAttr:$tile);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `outs` `(` $outs `)` `tile` $tile attr-dict `:`
    `(` type($inputs) `)` `outs` `(` type($outs) `)`
  }];
}

#endif // TFM_KERNEL_OPS_TD
