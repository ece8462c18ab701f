// Keeps a device busy for a while: a chain of steps that no compiler can shorten.
__kernel void delay(const int steps, OUT(uint, sink)) {
  BIND_OUT(uint, sink);
  uint state = sink[0] | 1u;
  for (int step = 0; step < steps; step++) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
  }
  sink[0] = state;
}
