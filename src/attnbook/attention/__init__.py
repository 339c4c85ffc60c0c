"""Scaled dot-product attention, masks, heads and the cache of keys and values."""
