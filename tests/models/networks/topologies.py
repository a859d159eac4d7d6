# SPDX-License-Identifier: Apache-2.0
"""The seventeen networks, full size and small: topologies as torchvision has them, spelled out where it has none."""

from functools import partial

from torch import nn
from torchvision import models
from torchvision.models import inception, mobilenetv3, resnet
from torchvision.models.efficientnet import EfficientNet, _efficientnet_conf
from torchvision.models.googlenet import BasicConv2d, Inception

from transformers import BertEncoder, GptDecoder

CLASSES, FEW_CLASSES = 1000, 40
NARROWER = 4  # small variants have a quarter of the channels


class NarrowResNet(resnet.ResNet):
    def _make_layer(self, block, planes, *args, **kwargs):
        return super()._make_layer(block, planes // NARROWER, *args, **kwargs)


def make_resnet(block, layers, small):
    if not small:
        return resnet.ResNet(block, layers, num_classes=CLASSES)
    model = NarrowResNet(block, layers)
    model.fc = nn.Linear(512 // NARROWER * block.expansion, FEW_CLASSES)
    return model


def make_mobilenet_v2(small):
    if not small:
        return models.MobileNetV2(num_classes=CLASSES)
    model = models.MobileNetV2(num_classes=FEW_CLASSES, width_mult=1 / NARROWER)
    # The last convolution never narrows below 1280 channels; one of 128 does here.
    channels = model.features[-1][0].in_channels
    model.features[-1] = type(model.features[-1])(channels, 128, kernel_size=1, norm_layer=nn.BatchNorm2d,
                                                  activation_layer=nn.ReLU6)
    model.classifier[1] = nn.Linear(128, FEW_CLASSES)
    return model


def make_mobilenet_v3(small):
    width = 1 / NARROWER if small else 1
    blocks, last_channel = mobilenetv3._mobilenet_v3_conf("mobilenet_v3_large", width_mult=width)
    return models.MobileNetV3(blocks, last_channel, num_classes=FEW_CLASSES if small else CLASSES)


def make_squeezenet(small):
    model = models.SqueezeNet("1_1", num_classes=FEW_CLASSES if small else CLASSES)
    if not small:
        return model

    def narrow(conv):
        keep = conv is model.features[0], conv is model.classifier[1]
        channels = (3 if keep[0] else conv.in_channels // NARROWER,
                    FEW_CLASSES if keep[1] else conv.out_channels // NARROWER)
        return nn.Conv2d(*channels, conv.kernel_size, conv.stride, conv.padding)

    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Conv2d):
                setattr(module, name, narrow(child))
    return model


def make_densenet(small):
    if not small:
        return models.DenseNet(32, (6, 12, 24, 16), 64, num_classes=CLASSES)
    return models.DenseNet(32 // NARROWER, (6, 12, 24, 16), 64 // NARROWER, num_classes=FEW_CLASSES)


def make_efficientnet(small):
    blocks, last_channel = _efficientnet_conf("efficientnet_b0", width_mult=1 / NARROWER if small else 1,
                                              depth_mult=1)
    return EfficientNet(blocks, dropout=0.2, last_channel=last_channel,
                        num_classes=FEW_CLASSES if small else CLASSES)


def make_shufflenet(small):
    if not small:
        return models.ShuffleNetV2([4, 8, 4], [24, 116, 232, 464, 1024], num_classes=CLASSES)
    return models.ShuffleNetV2([4, 8, 4], [24, 28, 56, 116, 128], num_classes=FEW_CLASSES)


def narrow_conv(block, channels_in, channels_out, **kwargs):
    """`block` with fewer channels; the three of an image stay."""
    return block(channels_in if channels_in == 3 else channels_in // NARROWER, channels_out // NARROWER, **kwargs)


def make_googlenet(small):
    options = {"aux_logits": False, "transform_input": True, "init_weights": False}
    if not small:
        return models.GoogLeNet(num_classes=CLASSES, **options)
    conv = partial(narrow_conv, BasicConv2d)
    model = models.GoogLeNet(blocks=[conv, partial(Inception, conv_block=conv), None], **options)
    model.fc = nn.Linear(1024 // NARROWER, FEW_CLASSES)
    return model


def make_inception_v3(small):
    options = {"aux_logits": False, "transform_input": True, "init_weights": False}
    if not small:
        return models.Inception3(num_classes=CLASSES, **options)
    conv = partial(narrow_conv, inception.BasicConv2d)
    mixed = [inception.InceptionA, inception.InceptionB, inception.InceptionC, inception.InceptionD,
             inception.InceptionE]
    blocks = [conv, *[partial(block, conv_block=conv) for block in mixed], None]
    model = models.Inception3(inception_blocks=blocks, **options)
    model.fc = nn.Linear(2048 // NARROWER, FEW_CLASSES)
    return model


def make_vgg(small):
    plan = [64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512, "M"]
    if not small:
        return models.VGG(models.vgg.make_layers(plan), num_classes=CLASSES, init_weights=False)
    plan = [c if c == "M" else c // NARROWER for c in plan]
    features = models.vgg.make_layers(plan)
    model = models.VGG(nn.Identity(), num_classes=FEW_CLASSES, init_weights=False)
    model.features, model.avgpool = features, nn.AdaptiveAvgPool2d((1, 1))
    model.classifier[0] = nn.Linear(512 // NARROWER, 256)
    model.classifier[3], model.classifier[6] = nn.Linear(256, 256), nn.Linear(256, FEW_CLASSES)
    return model


def make_vit(small):
    if not small:
        return models.VisionTransformer(224, 16, 12, 12, 768, 3072, num_classes=CLASSES)
    return models.VisionTransformer(64, 16, 12, 4, 64, 256, num_classes=FEW_CLASSES)


def make_bert(small):
    if not small:
        return BertEncoder(vocabulary=30522, positions=512, width=768, heads=12, hidden=3072, layers=12)
    return BertEncoder(vocabulary=1000, positions=64, width=64, heads=4, hidden=256, layers=12)


def make_gpt(small):
    if not small:
        return GptDecoder(vocabulary=50257, positions=1024, width=768, heads=12, layers=12)
    return GptDecoder(vocabulary=1000, positions=64, width=64, heads=4, layers=12)


class LstmTagger(nn.Module):
    """Two bidirectional layers over a sequence of features, and a label for every step."""

    def __init__(self, features, hidden, labels):
        super().__init__()
        self.lstm = nn.LSTM(features, hidden, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, labels)

    def forward(self, x):
        y, _ = self.lstm(x)
        return self.head(y)


def make_lstm(small):
    return LstmTagger(16, 32, 10) if small else LstmTagger(80, 512, 200)


def make_mlp(small):
    widths = (64, 128, 128, 128, 10) if small else (784, 4096, 4096, 4096, 10)
    layers = []
    for m, n in zip(widths, widths[1:]):
        layers += [nn.Linear(m, n), nn.ReLU()]
    return nn.Sequential(*layers[:-1])
