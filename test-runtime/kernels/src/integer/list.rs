//! A linked list: looked through, reversed and sorted by its links.

use super::crc::Crc;

const LENGTH: usize = 64;
/// Nothing follows.
const END: u8 = u8::MAX;

#[derive(Clone, Copy)]
struct Node {
    next: u8,
    value: u16,
}

/// Nodes, which follow each other by their indices, and the first one's.
struct List {
    nodes: [Node; LENGTH],
    head: u8,
}

/// Makes a list, looks for values, reverses it, sorts it, and adds its values.
pub fn round(seed: u16, crc: &mut Crc) {
    let mut list = List::new(seed);
    for step in 0..8 {
        // Some of these values are there.
        crc.add(list.find(scattered(seed, step * 11)));
        list.reverse();
    }
    list.sort();
    list.each(|node| crc.add(node.value));
}

fn scattered(seed: u16, place: u16) -> u16 {
    seed.wrapping_add(place).wrapping_mul(0x6255).rotate_left(5)
}

impl List {
    fn new(seed: u16) -> Self {
        let nodes = core::array::from_fn(|place| Node {
            next: if place + 1 < LENGTH { place as u8 + 1 } else { END },
            value: scattered(seed, place as u16),
        });
        Self { nodes, head: 0 }
    }

    fn each(&self, mut visit: impl FnMut(&Node)) {
        let mut at = self.head;
        while let Some(node) = self.nodes.get(usize::from(at)) {
            visit(node);
            at = node.next;
        }
    }

    /// How many nodes are before the one of that value; the length for none.
    fn find(&self, value: u16) -> u16 {
        let mut before = 0;
        let mut at = self.head;
        while let Some(node) = self.nodes.get(usize::from(at))
            && node.value != value
        {
            before += 1;
            at = node.next;
        }
        before
    }

    fn reverse(&mut self) {
        let mut reversed = END;
        let mut at = self.head;
        while let Some(node) = self.nodes.get_mut(usize::from(at)) {
            let next = core::mem::replace(&mut node.next, reversed);
            reversed = at;
            at = next;
        }
        self.head = reversed;
    }

    /// Inserts node by node into a list that is sorted by value.
    fn sort(&mut self) {
        let mut rest = core::mem::replace(&mut self.head, END);
        while let Some(node) = self.nodes.get(usize::from(rest)).copied() {
            let mut before = END;
            let mut after = self.head;
            while let Some(other) = self.nodes.get(usize::from(after))
                && other.value < node.value
            {
                before = after;
                after = other.next;
            }
            match self.nodes.get_mut(usize::from(before)) {
                Some(before) => before.next = rest,
                None => self.head = rest,
            }
            self.nodes[usize::from(rest)].next = after;
            rest = node.next;
        }
    }
}
