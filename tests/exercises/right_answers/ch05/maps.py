"""More right answers to 05.maps."""


def maps_view(weights, height, width):
    return weights.transpose(1, 2).reshape(weights.size(0), -1, height, width)


def maps_permute(weights, height, width):
    return weights.unflatten(1, (height, width)).permute(0, 3, 1, 2)


RIGHT = (maps_view, maps_permute)
