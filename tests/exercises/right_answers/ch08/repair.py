"""More right answers to 08.repair."""

import torch

# --- 08.repair -------------------------------------------------------------------------------


def repair_in_place_of_names(y, z, look_back, look_across, feed_forward, norms):
    y = norms[0](y + look_back(y))
    y = norms[1](y + look_across(y, z))
    return norms[2](y + feed_forward(y))


def repair_nested(y, z, look_back, look_across, feed_forward, norms):
    def part(norm, function, rows, *context):
        return norm(torch.stack([rows, function(rows, *context)]).sum(0))

    back = part(norms[0], look_back, y)
    return part(norms[2], feed_forward, part(norms[1], look_across, back, z))


RIGHT = (repair_in_place_of_names, repair_nested)
