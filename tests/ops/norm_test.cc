// SPDX-License-Identifier: Apache-2.0
// Normalisations. Expected values: torch 1.13 in f64, epsilon 1e-3.
#include <cmath>

#include "ops/constants.h"
#include "support/run_op.h"

namespace byoc::testing {
namespace {

const std::vector<double> kScale = {1.5, -0.5, 2, 1}, kBias = {0.25, 1, -1, 0};
const std::vector<double> kX = {-2,  1.5,  -0.5, 3, 1,  -1,  2.5, 0.5,  -1.5, 2, 0,  -2,
                                1.5, -0.5, 3,    1, -1, 2.5, 0.5, -1.5, 2,    0, -2, 1.5};
const std::vector<double> kBatch = {-7.23504485052312,
                                    3.24401794020925,
                                    -2.74401794020925,
                                    0.000124976567381918,
                                    0.500062488283691,
                                    1,
                                    3.99750187343887,
                                    -0.000499625312226804,
                                    -3.99850112406332,
                                    0,
                                    -1.4138601415098,
                                    -2.82772028301961,
                                    3.24401794020925,
                                    -2.74401794020925,
                                    7.73504485052312,
                                    0.500062488283691,
                                    1,
                                    0.125109354496459,
                                    -0.000499625312226804,
                                    -3.99850112406332,
                                    2.99800149875109,
                                    -1.4138601415098,
                                    -2.82772028301961,
                                    -0.353465035377451};
const std::vector<double> kInstance = {-1.49329058906083,
                                       2.16761964796691,
                                       0.0756709410939173,
                                       0.387742351852909,
                                       1,
                                       1.61225764814709,
                                       1.44903059258836,
                                       -1,
                                       -3.44903059258836,
                                       1.22451529629418,
                                       0,
                                       -1.22451529629418,
                                       0.424329058906083,
                                       -1.66761964796691,
                                       1.99329058906083,
                                       0.941890313697973,
                                       1.6392065493223,
                                       0.418903136979725,
                                       -0.76756125479189,
                                       -3.55682619728921,
                                       1.3243874520811,
                                       0.116219372604055,
                                       -1.27841309864461,
                                       1.16219372604055};
const std::vector<double> kGroup = {
    -1.83920579890658, 1.29460289945329,    -0.496144928180922, 0.204112076607017,
    0.801028019151754, 1.39794396169649,    1.7234407651659,    -0.697395470537122,
    -3.11823170624015, 1.05911585312007,    -0.151302264731439, -1.36172038258295,
    0.679347408553343, -1.3815201525027,    2.22499807934538,   1.02862316057022,
    1.71557901425557,  0.513406270306212,   -0.427536788595543, -3.17536020333694,
    1.6333307724605,   -0.0572463211404457, -1.43115802851114,  0.973187459387577};
const std::vector<double> kGroupScaled = {
    -1.83920579890658,  1.29460289945329,  -0.496144928180922, 2.63766377017895,  0.846915942544737,
    -0.943831885089475, 0.319139808708524, 0.92434886763428,   1.52955792656004,  0.470442073439963,
    1.07565113236572,   1.68086019129148,  0.679347408553343,  -1.3815201525027,  2.22499807934538,
    0.164130518289331,  -1.89673704276671, 1.70978118908137,   0.856884197148886, 1.54384005083423,
    0.341667306884874,  1.02862316057022,  1.71557901425557,   0.513406270306212};
const std::vector<double> kLrn3 = {-0.685785703127712,
                                   0.745164770007803,
                                   -0.276007913116762,
                                   0.870156114438749,
                                   0.490754922150363,
                                   -0.490754922150363,
                                   0.725130095365624,
                                   0.276007913116762,
                                   -0.625722319402814,
                                   0.748420926008586,
                                   0,
                                   -0.86835294566409,
                                   0.745164770007803,
                                   -0.276007913116762,
                                   0.964294772758916,
                                   0.490754922150363,
                                   -0.490754922150363,
                                   0.725130095365624,
                                   0.276007913116762,
                                   -0.625722319402814,
                                   0.696255870845565,
                                   0,
                                   -0.86835294566409,
                                   0.651264709248067};
const std::vector<double> kLrn4 = {-0.657624742741938,
                                   0.768922892135195,
                                   -0.256307630711732,
                                   0.910036893265247,
                                   0.512615261423463,
                                   -0.445673276373768,
                                   0.822030928427422,
                                   0.280993109329511,
                                   -0.673893909570675,
                                   0.820352498431283,
                                   0,
                                   -0.928645533863044,
                                   0.768922892135195,
                                   -0.256307630711732,
                                   0.986437114112906,
                                   0.512615261423463,
                                   -0.445673276373768,
                                   0.784754921702057,
                                   0.280993109329511,
                                   -0.673893909570675,
                                   0.771283145278448,
                                   0,
                                   -0.928645533863044,
                                   0.696484150397283};
const std::vector<double> kLayer = {-1.16219372604055,
                                    3.55682619728921,
                                    -1.05810968630203,
                                    1.22451529629418,
                                    1,
                                    -1.61225764814709,
                                    1.22451529629418,
                                    1,
                                    -1.61225764814709,
                                    1.22451529629418,
                                    1,
                                    -1.61225764814709,
                                    0.116219372604055,
                                    -1.55682619728921,
                                    -0.418903136979724,
                                    0.116219372604055,
                                    -1.55682619728921,
                                    -0.418903136979724,
                                    0.116219372604055,
                                    -1.55682619728921,
                                    -0.418903136979724,
                                    0.116219372604055,
                                    -1.55682619728921,
                                    -0.418903136979724};
const std::vector<double> kLayerPlain = {
    -1.37690488867436, 0.726004395846478,  -0.475658052451141,  1.62725123206969,
    0.425588783772073, -0.776073664525546, 1.32683561999529,    0.125173171697669,
    -1.07648927659995, 1.02642000792088,   -0.175242440376736,  -1.37690488867436,
    0.59555766220855,  -0.703840873519195, 1.57010656400436,    0.270708028276614,
    -1.02869050745113, 1.24525693007242,   -0.0541416056553227, -1.35354014138307,
    0.920407296140486, -0.378991239587259, -1.678389775315,     0.59555766220855};
const std::vector<double> kRms = {-1.35841899582936,
                                  2.03762849374404,
                                  -0.16980237447867,
                                  1.56648530653102,
                                  1.04432353768734,
                                  -0.261080884421836,
                                  1.46359922820023,
                                  0.585439691280091,
                                  -0.439079768460068,
                                  1.22451529629418,
                                  0,
                                  -0.612257648147091,
                                  0.766030967115688,
                                  -0.510687311410459,
                                  0.766030967115688,
                                  0.602913078559483,
                                  -1.20582615711897,
                                  0.753641348199354,
                                  0.33960474895734,
                                  -2.03762849374404,
                                  0.67920949791468,
                                  0,
                                  -2.77061642394307,
                                  0.519490579489325};
const std::vector<double> kMeanVariance = {
    -1.67885249311459, 0.490741497987342,  -0.749026496928048, 1.42056749417388,
    0.180799499258494, -1.0589684956569,   1.49666295374958,   0.213808993392797,
    -1.06904496696398, 1.17594946366038,   -0.106904496696398, -1.38975845705318,
    0.490741497987342, -0.749026496928048, 1.42056749417388,   0.180799499258494,
    -1.0589684956569,  1.11062549544504,   0.213808993392797,  -1.06904496696398,
    1.17594946366038,  -0.106904496696398, -1.38975845705318,  0.855235973571186};
const std::vector<double> kL1 = {-0.210526315789474,
                                 0.5,
                                 -0.1,
                                 0.315789473684211,
                                 0.333333333333333,
                                 -0.2,
                                 0.263157894736842,
                                 0.166666666666667,
                                 -0.3,
                                 0.210526315789474,
                                 0,
                                 -0.4,
                                 0.5,
                                 -0.1,
                                 0.333333333333333,
                                 0.333333333333333,
                                 -0.2,
                                 0.277777777777778,
                                 0.166666666666667,
                                 -0.3,
                                 0.222222222222222,
                                 0,
                                 -0.4,
                                 0.166666666666667};
const std::vector<double> kL2 = {-0.784464540552736,
                                 0.588348405414552,
                                 -0.196116135138184,
                                 0.904534033733291,
                                 0.301511344577764,
                                 -0.301511344577764,
                                 0.845154254728517,
                                 0.169030850945703,
                                 -0.50709255283711,
                                 0.707106781186547,
                                 0,
                                 -0.707106781186547,
                                 0.442325868464691,
                                 -0.147441956154897,
                                 0.884651736929383,
                                 0.348155311911396,
                                 -0.348155311911396,
                                 0.870388279778489,
                                 0.196116135138184,
                                 -0.588348405414552,
                                 0.784464540552736,
                                 0,
                                 -0.8,
                                 0.6};

const TensorType kType{DType::kF32, {Dim(2), Dim(4), Dim(3)}};
const TensorType kFour{DType::kF32, {Dim(4)}}, kFive{DType::kF32, {Dim(5)}};

// Checks y against `expected` in every float; `parameters` are rank 1.
void expect_norm(const char* op, const std::vector<int64_t>& dims,
                 const std::vector<std::vector<double>>& parameters, const Attrs& attrs,
                 const std::vector<double>& expected) {
  for (DType dtype : kFloats) {
    SCOPED_TRACE(cat(op, " ", dtype));
    std::vector<Values> inputs{tensor(dtype, dims, kX)};
    for (const auto& values : parameters)
      inputs.push_back(tensor(dtype, {static_cast<int64_t>(values.size())}, values));
    // The mean in f16 has one rounding error; the division doubles the error of the result.
    expect_near(run_op1(op, inputs, attrs), tensor(dtype, dims, expected), 2 * rounding(dtype));
  }
}

TEST(BatchNormInfer, ChecksEveryParameter) {
  EXPECT_EQ(infer("batch_norm", {kType, kFour, kFour, kFour, kFour}), "f32[2,4,3]");
  EXPECT_EQ(infer("batch_norm", {kType, kFour, kFour, kFive, kFour}),
            "batch_norm: x has 4 channels, mean has shape [5] (x f32[2,4,3], mean f32[5])");
  EXPECT_EQ(infer("batch_norm", {kFour, kFour, kFour, kFour, kFour}),
            "batch_norm: x has rank 1, expects 2 or more (x f32[4])");
  EXPECT_EQ(infer("batch_norm", {kType, kFour, kFour, type_of(DType::kF64, {4}), kFour}),
            "batch_norm: inputs 0 and 3 are f32[2,4,3] and f64[4], expects one dtype");
  TensorType ints = type_of(DType::kI64, {2, 4});
  EXPECT_EQ(infer("batch_norm", {ints, ints, ints, ints, ints}),
            "batch_norm: x is i64[2,4], expects one of f32 f64 f16 bf16");
}

TEST(BatchNorm, AgreesWithTorch) {
  expect_norm("batch_norm", {2, 4, 3}, {kScale, kBias, {0.5, -1, 0, 2}, {0.25, 4, 1, 2}},
              {{"epsilon", 1e-3}}, kBatch);
}

TEST(InstanceNormInfer, ChecksRankAndParameters) {
  EXPECT_EQ(infer("instance_norm", {kType, kFour, kFour}), "f32[2,4,3]");
  EXPECT_EQ(infer("instance_norm", {kType, kFour, kFive}),
            "instance_norm: x has 4 channels, bias has shape [5] (x f32[2,4,3], bias f32[5])");
  EXPECT_EQ(infer("instance_norm", {type_of(DType::kF32, {2, 4}), kFour, kFour}),
            "instance_norm: x has rank 2, expects 3 or more (x f32[2,4])");
}

TEST(InstanceNorm, AgreesWithTorch) {
  expect_norm("instance_norm", {2, 4, 3}, {kScale, kBias}, {{"epsilon", 1e-3}}, kInstance);
}

TEST(GroupNormInfer, ChecksTheNumberOfGroups) {
  TensorType two = type_of(DType::kF32, {2});
  EXPECT_EQ(infer("group_norm", {kType, kFour, kFour}, {{"num_groups", 2}}), "f32[2,4,3]");
  EXPECT_EQ(infer("group_norm", {kType, two, two}, {{"num_groups", 2}}), "f32[2,4,3]");
  EXPECT_EQ(infer("group_norm", {kType, kFour, kFour}, {{"num_groups", 3}}),
            "group_norm: 4 channels cannot be cut into 3 groups (x f32[2,4,3])");
  EXPECT_EQ(infer("group_norm", {kType, kFour, kFour}, {{"num_groups", 0}}),
            "group_norm: 4 channels cannot be cut into 0 groups (x f32[2,4,3])");
  EXPECT_EQ(infer("group_norm", {kType, kFive, kFour}, {{"num_groups", 2}}),
            "group_norm: x has 4 channels, scale has shape [5] (x f32[2,4,3], scale f32[5])");
}

TEST(GroupNorm, AgreesWithTorch) {
  Attrs attrs{{"num_groups", 2}, {"epsilon", 1e-3}};
  expect_norm("group_norm", {2, 4, 3}, {kScale, kBias}, attrs, kGroup);
  expect_norm("group_norm", {2, 4, 3}, {{1.5, -0.5}, {0.25, 1}}, attrs, kGroupScaled);
}

TEST(LrnInfer, ChecksSizeAndRank) {
  EXPECT_EQ(infer("lrn", {kType}, {{"size", 3}}), "f32[2,4,3]");
  EXPECT_EQ(infer("lrn", {kType}, {{"size", 0}}), "lrn: size is 0, at least 1 is needed");
  EXPECT_EQ(infer("lrn", {kFour}, {{"size", 3}}),
            "lrn: x has rank 1, expects 2 or more (x f32[4])");
}

// An even window has its extra channel on the other side in torch than in ONNX, so torch computed
// kLrn4 on reversed channels.
TEST(Lrn, AgreesWithTorch) {
  Attrs attrs{{"size", 3}, {"alpha", 0.5}, {"beta", 0.75}, {"bias", 2.0}};
  expect_norm("lrn", {2, 4, 3}, {}, attrs, kLrn3);
  attrs.set("size", 4);
  expect_norm("lrn", {2, 4, 3}, {}, attrs, kLrn4);
}

TEST(LayerNormInfer, ChecksParameters) {
  TensorType three = type_of(DType::kF32, {3});
  EXPECT_EQ(infer("layer_norm", {kType}), "f32[2,4,3]");
  EXPECT_EQ(infer("layer_norm", {kType, three, three}), "f32[2,4,3]");
  EXPECT_EQ(infer("layer_norm", {kType, kFour}),
            "layer_norm: scale has shape [4], expects [3] (x f32[2,4,3], axis 2)");
  EXPECT_EQ(infer("layer_norm", {kType, three}, {{"axis", 1}}),
            "layer_norm: scale has shape [3], expects [4,3] (x f32[2,4,3], axis 1)");
  EXPECT_EQ(infer("layer_norm", {kType}, {{"axis", 3}}),
            "layer_norm: axis 3 is outside [-3, 3) (x f32[2,4,3])");
}

TEST(LayerNormInfer, GivesStatisticsWhenAsked) {
  EXPECT_EQ(infer("layer_norm", {kType}, {{"axis", 1}, {"stats", true}}),
            "f32[2,4,3] f32[2,1,1] f32[2,1,1]");
  EXPECT_EQ(infer("layer_norm", {type_of(DType::kF16, {2, 3})}, {{"stats", true}}),
            "f16[2,3] f32[2,1] f32[2,1]");
}

TEST(LayerNorm, AgreesWithTorch) {
  expect_norm("layer_norm", {2, 4, 3}, {{1, 2, 0.5}, {0, 1, -1}}, {{"epsilon", 1e-3}}, kLayer);
  expect_norm("layer_norm", {2, 4, 3}, {}, {{"axis", 1}, {"epsilon", 1e-3}}, kLayerPlain);
}

TEST(LayerNorm, GivesItsStatistics) {
  auto results = *run_op("layer_norm", {f32({2, 4, 3}, kX)},
                         {{"axis", 1}, {"epsilon", 1e-3}, {"stats", true}});
  expect_close(results[0], f32({2, 4, 3}, kLayerPlain));
  expect_close(results[1], f32({2, 1, 1}, {0.291666666666667, 0.583333333333333}));
  expect_close(results[2], f32({2, 1, 1}, {0.60083122414881, 0.649699267863873}));
}

// The one-pass formula mean(x^2) - mean(x)^2 would lose all digits here.
TEST(LayerNorm, KeepsTheSpreadBesideALargeMean) {
  double inv_std = 1 / std::sqrt(2.0 / 3 + 1e-5);
  expect_close(run_op1("layer_norm", {f32({3}, {99999, 100000, 100001})}),
               f32({3}, {-inv_std, 0, inv_std}));
}

TEST(RmsNorm, FollowsItsFormula) {
  expect_norm("rms_norm", {2, 4, 3}, {{1, 2, 0.5}}, {{"epsilon", 1e-3}}, kRms);
  EXPECT_EQ(infer("rms_norm", {kType, kFour}),
            "rms_norm: scale has shape [4], expects [3] (x f32[2,4,3], axis 2)");
}

TEST(MeanVarianceNorm, FollowsItsFormula) {
  expect_norm("mean_variance_norm", {2, 2, 2, 3}, {}, {}, kMeanVariance);
  EXPECT_EQ(infer("mean_variance_norm", {kType}),
            "mean_variance_norm: axis 3 is outside [-3, 3) (x f32[2,4,3])");
}

TEST(LpNorm, AgreesWithTorch) {
  expect_norm("lp_norm", {2, 4, 3}, {}, {{"p", 1}, {"axis", 1}}, kL1);
  expect_norm("lp_norm", {2, 4, 3}, {}, {}, kL2);
}

TEST(LpNorm, LeavesZerosAlone) {
  expect_close(run_op1("lp_norm", {f32({2}, {0, 0})}), f32({2}, {0, 0}));
}

TEST(LpNormInfer, ChecksAxisAndPower) {
  EXPECT_EQ(infer("lp_norm", {kType}, {{"p", 3}}), "lp_norm: p is 3, expects 1 or 2");
  EXPECT_EQ(infer("lp_norm", {kType}, {{"axis", 3}}),
            "lp_norm: axis 3 is outside [-3, 3) (x f32[2,4,3])");
}

TEST(Norms, AcceptEmptyTensors) {
  Values none = f32({0}, {});
  expect_close(run_op1("instance_norm", {f32({2, 0, 3}, {}), none, none}), f32({2, 0, 3}, {}));
  expect_close(run_op1("layer_norm", {f32({0, 3}, {})}), f32({0, 3}, {}));
  expect_close(run_op1("batch_norm", {f32({2, 0, 3}, {}), none, none, none, none}),
               f32({2, 0, 3}, {}));
}

}  // namespace
}  // namespace byoc::testing
