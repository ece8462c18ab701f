//! The waits of random plans against the transitive reduction of the unrolled graph, by brute force.
