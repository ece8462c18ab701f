//! The checker against plans written by hand, their mutants, and an oracle for waits.

#[cfg(test)]
mod emitter;
#[cfg(test)]
mod facts;
#[cfg(test)]
mod hand;
#[cfg(test)]
mod kernels;
#[cfg(test)]
mod mutants;
#[cfg(test)]
mod random;
#[cfg(test)]
mod reduction;
#[cfg(test)]
mod schemas;
