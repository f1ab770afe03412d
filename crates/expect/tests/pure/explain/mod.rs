//! What is said to be the cause: of made runs and searches, and of runs that were published.

mod advice;
mod causes;
mod costs;
mod faults;
mod hostile;
mod limiters;
mod made;
mod published;
mod tenants;
mod waiting;
