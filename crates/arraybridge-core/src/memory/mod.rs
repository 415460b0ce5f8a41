//! Running out of memory and recovering; what child processes need.
