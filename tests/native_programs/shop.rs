//! A small shop: what the tests ask a debugger about Rust.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

mod shapes {
    pub trait Shape {
        fn area(&self) -> i64;
        fn twice(&self) -> i64 {
            2 * self.area() // @twice
        }
    }

    #[derive(Debug, Clone)]
    pub struct Sq {
        pub side: i64,
    }

    #[derive(Debug, Clone)]
    pub struct Rect(pub i64, pub i64);

    impl Shape for Sq {
        fn area(&self) -> i64 {
            self.side * self.side // @square
        }
    }

    impl Shape for Rect {
        fn area(&self) -> i64 {
            self.0 * self.1 // @rectangle
        }
    }

    impl Rect {
        #[inline(never)]
        pub fn width(&self) -> i64 {
            self.0
        }
    }
}

use shapes::{Rect, Shape, Sq};

#[derive(Debug, Clone)]
#[allow(dead_code)]
enum Order {
    Empty,
    Count(u32),
    Named { name: String, price: f64 },
}

#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(dead_code)]
enum Colour {
    Red,
    Green,
}

#[allow(dead_code)]
enum Chain {
    End,
    Link(i32, Box<Chain>),
}

#[allow(dead_code)]
struct Ring {
    number: i32,
    next: RefCell<Option<Rc<Ring>>>,
}

#[inline(never)]
fn largest<T: PartialOrd + Copy>(items: &[T]) -> T {
    let mut best = items[0];
    for &item in items {
        if item > best {
            best = item; // @largest
        }
    }
    best
}

#[inline(never)]
fn look(text: &str, items: &mut Vec<i32>, choice: Option<u32>) -> usize {
    let words: Vec<String> = text.split(' ').map(str::to_string).collect();
    let ages: HashMap<String, i32> = [("ann".to_string(), 33)].into_iter().collect();
    let seen: HashSet<u8> = [7].into_iter().collect();
    let sorted: BTreeMap<i32, &str> = [(1, "one"), (2, "two")].into_iter().collect();
    let line: VecDeque<i32> = [4, 5, 6].into_iter().collect();
    let shared = Rc::new(Sq { side: 4 });
    let second = shared.clone();
    let locked = Arc::new(Mutex::new(5));
    let cell = Cell::new(8);
    let borrowed = RefCell::new(vec![1, 2]);
    let none: Option<String> = None;
    let some: Option<String> = Some(String::from("héllo"));
    let good: Result<i32, String> = Ok(3);
    let orders = vec![Order::Empty, Order::Count(3), Order::Named { name: "pen".to_string(), price: 1.5 }];
    let colour = Colour::Green;
    let tup = (1, "two", 3.5);
    let nested = ((1, 2), Sq { side: 9 });
    let boxed: Box<dyn Shape> = Box::new(Rect(2, 3));
    let boxes: Box<i32> = Box::new(6);
    let many: Vec<u32> = (0..5000).collect();
    let long = "x".repeat(5000);
    let letter = 'ß';
    let slice = &items[1..];
    let chain = (0..1000).fold(Chain::End, |rest, number| Chain::Link(number, Box::new(rest)));
    let ring = Rc::new(Ring { number: 1, next: RefCell::new(None) });
    *ring.next.borrow_mut() = Some(ring.clone());
    let garbage = [1usize << 60, 0x1234, 1 << 59, 1 << 58, 3, 5, 7, 9]; // as in a variable that has no value yet
    let wild_vec: &Vec<u64> = unsafe { &*garbage.as_ptr().cast() };
    let wild_text: &String = unsafe { &*garbage.as_ptr().cast() };
    let wild_map: &HashMap<u64, String> = unsafe { &*garbage.as_ptr().cast() };
    let wild_line: &VecDeque<u64> = unsafe { &*garbage.as_ptr().cast() };
    let wild_rc: &Rc<Sq> = unsafe { &*garbage[1..].as_ptr().cast() };
    let wild_sorted: &BTreeMap<u64, u64> = unsafe { &*garbage.as_ptr().cast() };
    std::hint::black_box([wild_vec as *const _ as usize, wild_text as *const _ as usize, wild_rc as *const _ as usize]);
    std::hint::black_box([wild_map as *const _ as usize, wild_line as *const _ as usize, wild_sorted as *const _ as usize]);
    let areas = [boxed.area(), shared.twice(), Rect(5, 6).area()];
    let most = largest(&[1, 5, 3]) as i64 + largest(&[1.5, 2.5]) as i64;
    let width = Rect(5, 6).width();
    let total = slice.len() + words.len() + orders.len() + second.side as usize; // @looked
    println!("{} {:?} {} {} {} {} {}", total, choice, ages.len(), seen.len(), sorted.len(), line.len(), cell.get());
    println!("{:?} {:?} {:?} {:?} {:?} {:?} {:?}", none, some, good, colour, tup, nested, boxes);
    println!("{} {} {} {:?} {:?} {:?}", many.len(), long.len(), letter, areas, locked, borrowed);
    println!("{} {} {:?} {} {}", most, width, orders, matches!(chain, Chain::End), Rc::strong_count(&ring));
    total
}

#[inline(never)]
fn price(orders: &[Order], at: usize) -> u32 {
    match &orders[at] { // @index
        Order::Count(count) => *count,
        Order::Empty => panic!("no price for order {} of {}", at, orders.len()), // @panic
        Order::Named { name, .. } => name.parse().unwrap(), // @unwrap
    }
}

fn main() {
    let mut items = vec![10, 20, 30];
    let total = look("pay the bill", &mut items, Some(2));
    items.push(total as i32);
    println!("{:?}", items); // @items
    let orders = vec![Order::Count(2), Order::Empty, Order::Named { name: "pen".to_string(), price: 2.5 }];
    for (at, wish) in std::env::args().skip(1).enumerate() {
        if wish == "caught" {
            let outcome = std::panic::catch_unwind(|| price(&orders, 1)); // @caught
            println!("{}", outcome.is_err());
        } else if wish == "thread" {
            let copy = orders.clone();
            let outcome = std::thread::spawn(move || price(&copy, 1)).join();
            println!("{}", outcome.is_err());
        } else if wish == "together" {
            let gate = std::sync::Barrier::new(4);
            std::thread::scope(|scope| {
                let at_gate = || { gate.wait(); price(&orders, 1) };
                let all: Vec<_> = (0..4).map(|_| scope.spawn(at_gate)).collect();
                println!("{}", all.into_iter().all(|each| each.join().is_err()));
            });
        } else if wish == "closed" {
            let outcome = std::panic::catch_unwind(|| panic!("the shop is closed")); // @closed
            println!("{}", outcome.is_err());
        } else if wish == "again" {
            let outcome = std::panic::catch_unwind(|| price(&orders, 2));
            std::panic::resume_unwind(outcome.unwrap_err());
        } else {
            println!("{} {}", at, price(&orders, wish.parse().unwrap()));
        }
    }
}
