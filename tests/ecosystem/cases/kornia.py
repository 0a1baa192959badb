"""kornia: filters, geometry, colour, augmentation with fixed seeds, losses, features."""

import json

import kornia as K
import torch
from kornia import augmentation as A

torch.manual_seed(0)
out = {}


def totals(tensor):
    flat = tensor.detach().double().reshape(-1)
    return [flat.sum().item(), flat.abs().sum().item(), *flat[:4].tolist()]


def checked(name, function, *inputs):
    """Values and the gradient of the first input."""
    first = inputs[0].detach().clone().requires_grad_()
    result = function(first, *inputs[1:])
    out[name] = [list(result.shape), *totals(result)]
    if result.requires_grad:
        out[name] += totals(torch.autograd.grad(result.square().sum(), first)[0])


image = torch.rand(2, 3, 12, 14)
gray = torch.rand(2, 1, 12, 14)

for name, function in {
    "gaussian": lambda x: K.filters.gaussian_blur2d(x, (5, 3), (1.5, 0.8)),
    "box": lambda x: K.filters.box_blur(x, (3, 3)),
    "median": lambda x: K.filters.median_blur(x, (3, 3)),
    "sobel": K.filters.sobel,
    "laplacian": lambda x: K.filters.laplacian(x, 3),
    "spatial": lambda x: K.filters.spatial_gradient(x, order=2),
    "unsharp": lambda x: K.filters.unsharp_mask(x, (3, 3), (1.0, 1.0)),
    "motion": lambda x: K.filters.motion_blur(x, 5, 30.0, 0.5),
    "bilateral": lambda x: K.filters.bilateral_blur(x, (3, 3), 0.1, (1.0, 1.0)),
    "guided": lambda x: K.filters.guided_blur(x, x, 3, 0.1),
    "pool": lambda x: K.filters.blur_pool2d(x, 3),
}.items():
    checked("filter_" + name, function, image)
magnitude, edges = K.filters.canny(gray)
out["canny"] = totals(magnitude) + totals(edges)

angle = torch.tensor([20.0, -35.0])
center = torch.tensor([[6.0, 5.0], [7.0, 6.0]])
scale = torch.tensor([[1.1, 0.9], [0.8, 1.2]])
rotation = K.geometry.get_rotation_matrix2d(center, angle, scale)
corners = torch.tensor([[[0.0, 0], [13, 0], [13, 11], [0, 11]]]).repeat(2, 1, 1)
moved = corners + torch.randn(2, 4, 2)
homography = K.geometry.get_perspective_transform(corners, moved)
out["rotation"] = totals(rotation)
out["homography"] = totals(homography)
for name, function in {
    "affine": lambda x: K.geometry.warp_affine(x, rotation, (10, 11)),
    "affine_border": lambda x: K.geometry.warp_affine(
        x, rotation, (10, 11), padding_mode="border", mode="nearest"
    ),
    "perspective": lambda x: K.geometry.warp_perspective(x, homography, (12, 14)),
    "rotate": lambda x: K.geometry.rotate(x, angle),
    "translate": lambda x: K.geometry.translate(x, torch.tensor([[1.5, -2.0], [0.0, 1.0]])),
    "scale": lambda x: K.geometry.scale(x, scale),
    "shear": lambda x: K.geometry.shear(x, torch.tensor([[0.2, 0.0], [0.0, -0.1]])),
    "resize": lambda x: K.geometry.resize(x, (7, 9), interpolation="bicubic", antialias=True),
    "rescale": lambda x: K.geometry.rescale(x, 1.5),
    "flip": lambda x: K.geometry.hflip(K.geometry.vflip(x)),
    "crop": lambda x: K.geometry.crop_and_resize(x, corners[:, [0, 1, 2, 3]] / 2, (5, 5)),
    "center_crop": lambda x: K.geometry.center_crop(x, (6, 8)),
    "pyramid": K.geometry.pyrdown,
    "elastic": lambda x: K.geometry.elastic_transform2d(
        x, torch.linspace(-1, 1, 2 * 2 * 12 * 14).reshape(2, 2, 12, 14), (5, 5), (2.0, 2.0)
    ),
}.items():
    checked("geometry_" + name, function, image)
points = torch.randn(2, 5, 2)
checked("transform_points", lambda p: K.geometry.transform_points(homography, p), points)
found = K.geometry.find_homography_dlt(corners, moved)
out["found"] = totals(found)
vector = torch.randn(4, 3)
rotations = K.geometry.axis_angle_to_rotation_matrix(vector)
out["rotations"] = totals(rotations)
out["axis_angle"] = totals(K.geometry.rotation_matrix_to_axis_angle(rotations))
quaternion = K.geometry.rotation_matrix_to_quaternion(rotations)
out["quaternion"] = totals(K.geometry.quaternion_to_rotation_matrix(quaternion))
camera = torch.tensor([[100.0, 0, 7], [0, 100, 6], [0, 0, 1]]).expand(2, 3, 3)
depth = torch.rand(2, 1, 12, 14) + 1
out["depth"] = totals(K.geometry.depth_to_3d(depth, camera))
so3 = K.geometry.liegroup.So3.exp(vector)
out["so3"] = totals(so3.log()) + totals(so3.matrix())
boxes = torch.tensor([[1.0, 2, 5, 6], [0, 0, 3, 3]])
out["boxes"] = totals(K.geometry.bbox.bbox_to_mask(corners / 2, 12, 14))

for name, function in {
    "gray": K.color.rgb_to_grayscale,
    "hsv": K.color.rgb_to_hsv,
    "hsv_back": K.color.hsv_to_rgb,
    "hls": K.color.rgb_to_hls,
    "lab": K.color.rgb_to_lab,
    "lab_back": lambda x: K.color.lab_to_rgb(x * 50),
    "luv": K.color.rgb_to_luv,
    "yuv": K.color.rgb_to_yuv,
    "ycbcr": K.color.rgb_to_ycbcr,
    "xyz": K.color.rgb_to_xyz,
    "linear": K.color.rgb_to_linear_rgb,
    "sepia": K.color.sepia,
    "bgr": K.color.rgb_to_bgr,
}.items():
    checked("color_" + name, function, image)
for name, function in {
    "brightness": lambda x: K.enhance.adjust_brightness(x, 0.2),
    "contrast": lambda x: K.enhance.adjust_contrast(x, 0.7),
    "gamma": lambda x: K.enhance.adjust_gamma(x, 1.4),
    "hue": lambda x: K.enhance.adjust_hue(x, 0.3),
    "saturation": lambda x: K.enhance.adjust_saturation(x, 1.5),
    "normalize": lambda x: K.enhance.normalize(x, torch.rand(3), torch.rand(3) + 0.5),
    "solarize": lambda x: K.enhance.solarize(x, 0.6),
    "sharpness": lambda x: K.enhance.sharpness(x, 1.5),
    "clahe": lambda x: K.enhance.equalize_clahe(x, 2.0, (2, 2)),
    "invert": K.enhance.invert,
    "zca": lambda x: K.enhance.zca_whiten(x.reshape(-1, 6)),
}.items():
    torch.manual_seed(1)
    checked("enhance_" + name, function, image.double() if name == "zca" else image)
out["equalize"] = totals(K.enhance.equalize(image))
out["posterize"] = totals(K.enhance.posterize(image, 3))
out["histogram"] = totals(
    K.enhance.histogram(gray.reshape(2, -1), torch.linspace(0, 1, 8), torch.tensor(0.1))
)

for name, augmentation in {
    "flip": A.RandomHorizontalFlip(p=0.5),
    "affine": A.RandomAffine(20.0, translate=(0.1, 0.2), scale=(0.8, 1.2), shear=5.0, p=1.0),
    "perspective": A.RandomPerspective(0.3, p=1.0),
    "crop": A.RandomResizedCrop((8, 8), scale=(0.4, 1.0), p=1.0),
    "jitter": A.ColorJitter(0.2, 0.2, 0.2, 0.1, p=1.0),
    "erase": A.RandomErasing(p=1.0),
    "rotate": A.RandomRotation(30.0, p=1.0),
    "gray": A.RandomGrayscale(p=0.5),
    "noise": A.RandomGaussianNoise(p=1.0),
    "blur": A.RandomGaussianBlur((3, 3), (0.5, 1.5), p=1.0),
    "solarize": A.RandomSolarize(p=1.0),
    "posterize": A.RandomPosterize(3, p=1.0),
    "elastic": A.RandomElasticTransform(kernel_size=(5, 5), sigma=(2.0, 2.0), p=1.0),
    "plasma": A.RandomPlasmaShadow(p=1.0),
    "mosaic": A.RandomMosaic((12, 14), p=1.0),
}.items():
    torch.manual_seed(2)
    out["augment_" + name] = totals(augmentation(image))
sequence = A.AugmentationSequential(
    A.RandomAffine(15.0, p=1.0),
    A.RandomHorizontalFlip(p=0.5),
    data_keys=["input", "mask", "keypoints"],
)
torch.manual_seed(3)
together = sequence(image, (gray > 0.5).float(), torch.rand(2, 3, 2) * 10)
out["sequence"] = [totals(part) for part in together]
out["sequence_matrix"] = totals(sequence.transform_matrix)
back = sequence.inverse(*together)
out["sequence_back"] = [totals(part) for part in back]
torch.manual_seed(4)
out["auto"] = totals(A.auto.RandAugment(2, 10)(image))

logits = torch.randn(2, 3, 12, 14)
target = torch.randint(0, 3, (2, 12, 14))
other = torch.rand(2, 3, 12, 14)
for name, function in {
    "ssim": lambda x: K.losses.ssim_loss(x, other, 5),
    "ms_ssim": lambda x: K.losses.MS_SSIMLoss(sigmas=[0.5, 1.0])(x, other),
    "psnr": lambda x: K.losses.psnr_loss(x, other, 1.0),
    "charbonnier": lambda x: K.losses.charbonnier_loss(x, other, "mean"),
    "total_variation": lambda x: K.losses.total_variation(x.double()),
    "dice": lambda x: K.losses.dice_loss(x, target),
    "tversky": lambda x: K.losses.tversky_loss(x, target, 0.5, 0.5),
    "focal": lambda x: K.losses.focal_loss(x, target, 0.5, 2.0, "mean"),
    "lovasz": lambda x: K.losses.lovasz_softmax_loss(x, target),
    "divergence": lambda x: K.losses.js_div_loss_2d(x.softmax(-1), other.softmax(-1)),
}.items():
    checked("loss_" + name, function, image if "ssim" in name else logits)

out["harris"] = totals(K.feature.harris_response(gray))
out["shi"] = totals(K.feature.gftt_response(gray))
out["sift"] = totals(K.feature.SIFTDescriptor(8)(torch.rand(3, 1, 8, 8)))
first, second = torch.rand(6, 4), torch.rand(5, 4)
distances, pairs = K.feature.match_mnn(first, second)
out["matched"] = totals(distances) + totals(pairs)
for name, function in {
    "dilate": K.morphology.dilation,
    "erode": K.morphology.erosion,
    "open": K.morphology.opening,
    "gradient": K.morphology.gradient,
}.items():
    out["morphology_" + name] = totals(function(gray, torch.ones(3, 3)))
out["metric"] = totals(K.metrics.ssim(image, other, 5))
out["iou"] = totals(K.metrics.mean_iou(target, target.roll(1), 3))
out["patches"] = totals(K.contrib.extract_tensor_patches(image, 4, stride=2))
out["distance"] = totals(K.contrib.distance_transform((gray > 0.8).float()))

print(json.dumps(out))
