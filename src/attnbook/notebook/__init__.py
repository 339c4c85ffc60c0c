"""What a notebook needs around its tensors: the device, printing, counting and timing."""
