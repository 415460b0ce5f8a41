// A function of JAX 0.10.2 as StableHLO: brightens an image and smooths it. Made by
//
//   python - > examples/data/jax_function.mlir <<'END'
//   import jax, jax.numpy as jnp
//   def enhance(image):
//       image = jnp.sqrt((image - image.min()) / (image.max() - image.min()))
//       for axis in (0, 1):
//           image = (jnp.roll(image, 1, axis) + 2 * image + jnp.roll(image, -1, axis)) / 4
//       return image
//   image = jax.ShapeDtypeStruct((660, 550), "float32")
//   print(jax.jit(enhance).lower(image).as_text())
//   END
//
// to which this comment was added.
module @jit_enhance attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<660x550xf32>) -> (tensor<660x550xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.minimum across dimensions = [0, 1] : (tensor<660x550xf32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<660x550xf32>
    %2 = stablehlo.subtract %arg0, %1 : tensor<660x550xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %3 = stablehlo.reduce(%arg0 init: %cst_0) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<660x550xf32>, tensor<f32>) -> tensor<f32>
    %cst_1 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %4 = stablehlo.reduce(%arg0 init: %cst_1) applies stablehlo.minimum across dimensions = [0, 1] : (tensor<660x550xf32>, tensor<f32>) -> tensor<f32>
    %5 = stablehlo.subtract %3, %4 : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<660x550xf32>
    %7 = stablehlo.divide %2, %6 : tensor<660x550xf32>
    %8 = stablehlo.sqrt %7 : tensor<660x550xf32>
    %9 = call @_roll_static(%8) : (tensor<660x550xf32>) -> tensor<660x550xf32>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<660x550xf32>
    %11 = stablehlo.multiply %10, %8 : tensor<660x550xf32>
    %12 = stablehlo.add %9, %11 : tensor<660x550xf32>
    %13 = call @_roll_static_0(%8) : (tensor<660x550xf32>) -> tensor<660x550xf32>
    %14 = stablehlo.add %12, %13 : tensor<660x550xf32>
    %cst_3 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<660x550xf32>
    %16 = stablehlo.divide %14, %15 : tensor<660x550xf32>
    %17 = call @_roll_static_1(%16) : (tensor<660x550xf32>) -> tensor<660x550xf32>
    %cst_4 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<660x550xf32>
    %19 = stablehlo.multiply %18, %16 : tensor<660x550xf32>
    %20 = stablehlo.add %17, %19 : tensor<660x550xf32>
    %21 = call @_roll_static_2(%16) : (tensor<660x550xf32>) -> tensor<660x550xf32>
    %22 = stablehlo.add %20, %21 : tensor<660x550xf32>
    %cst_5 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<660x550xf32>
    %24 = stablehlo.divide %22, %23 : tensor<660x550xf32>
    return %24 : tensor<660x550xf32>
  }
  func.func private @_roll_static(%arg0: tensor<660x550xf32>) -> tensor<660x550xf32> {
    %0 = stablehlo.slice %arg0 [659:660, 0:550] : (tensor<660x550xf32>) -> tensor<1x550xf32>
    %1 = stablehlo.slice %arg0 [0:659, 0:550] : (tensor<660x550xf32>) -> tensor<659x550xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x550xf32>, tensor<659x550xf32>) -> tensor<660x550xf32>
    return %2 : tensor<660x550xf32>
  }
  func.func private @_roll_static_0(%arg0: tensor<660x550xf32>) -> tensor<660x550xf32> {
    %0 = stablehlo.slice %arg0 [1:660, 0:550] : (tensor<660x550xf32>) -> tensor<659x550xf32>
    %1 = stablehlo.slice %arg0 [0:1, 0:550] : (tensor<660x550xf32>) -> tensor<1x550xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<659x550xf32>, tensor<1x550xf32>) -> tensor<660x550xf32>
    return %2 : tensor<660x550xf32>
  }
  func.func private @_roll_static_1(%arg0: tensor<660x550xf32>) -> tensor<660x550xf32> {
    %0 = stablehlo.slice %arg0 [0:660, 549:550] : (tensor<660x550xf32>) -> tensor<660x1xf32>
    %1 = stablehlo.slice %arg0 [0:660, 0:549] : (tensor<660x550xf32>) -> tensor<660x549xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<660x1xf32>, tensor<660x549xf32>) -> tensor<660x550xf32>
    return %2 : tensor<660x550xf32>
  }
  func.func private @_roll_static_2(%arg0: tensor<660x550xf32>) -> tensor<660x550xf32> {
    %0 = stablehlo.slice %arg0 [0:660, 1:550] : (tensor<660x550xf32>) -> tensor<660x549xf32>
    %1 = stablehlo.slice %arg0 [0:660, 0:1] : (tensor<660x550xf32>) -> tensor<660x1xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<660x549xf32>, tensor<660x1xf32>) -> tensor<660x550xf32>
    return %2 : tensor<660x550xf32>
  }
}

