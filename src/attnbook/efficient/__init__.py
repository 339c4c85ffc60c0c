"""The same call with less memory or time: chunked, blocked, fused, windowed, linear."""
