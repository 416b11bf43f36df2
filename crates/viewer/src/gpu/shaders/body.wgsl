// Bodies: copies of flat-shaded meshes, posed by part.

// Where the character's parts turn, as in the mesh.
const HIP = 0.1;
const SHOULDER = 0.345;
const NECK = 0.4;

struct BodyIn {
    @location(0) position: vec3f,
    @location(1) normal: vec3f,
    @location(2) tint: vec4f,
    @location(3) role: vec4u,
    @location(4) place: vec4f,   // feet; scale
    @location(5) stand: vec3f,   // sine and cosine of where it faces, stretch
    @location(6) pose: vec4f,    // stride, lean, arms, head
    @location(7) color: vec4f,   // a: glow
    @location(8) accent: vec4f,  // a: presence
}

struct Posed {
    position: vec3f,
    normal: vec3f,
}

struct BodyOut {
    @builtin(position) clip: vec4f,
    @location(0) world: vec3f,
    @location(1) @interpolate(flat) normal: vec3f,
    @location(2) @interpolate(flat) albedo: vec4f,   // a: glow
    @location(3) @interpolate(flat) presence: f32,
}

// Turns about an axis to the east; a positive angle takes what hangs down to the front.
fn swing(v: vec3f, angle: f32) -> vec3f {
    let s = sin(angle);
    let c = cos(angle);
    return vec3f(v.x, v.y * c - v.z * s, v.y * s + v.z * c);
}

// Turns about the upright by an angle with this sine and cosine, clockwise from above.
fn turn(v: vec3f, facing: vec2f) -> vec3f {
    return vec3f(v.x * facing.y - v.z * facing.x, v.y, v.x * facing.x + v.z * facing.y);
}

fn posed(in: BodyIn) -> Posed {
    var p = in.position;
    var n = in.normal;
    if POSED {
        let joint_hip = vec3f(0.0, HIP, 0.0);
        let joint_shoulder = vec3f(0.0, SHOULDER, 0.0);
        switch in.role.x {
            case 1u: { p = swing(p - joint_hip, in.pose.x) + joint_hip; n = swing(n, in.pose.x); }
            case 2u: { p = swing(p - joint_hip, -in.pose.x) + joint_hip; n = swing(n, -in.pose.x); }
            case 3u: {
                let angle = in.pose.z - in.pose.x * 0.8;
                p = swing(p - joint_shoulder, angle) + joint_shoulder;
                n = swing(n, angle);
            }
            case 4u: {
                let angle = in.pose.z + in.pose.x * 0.8;
                p = swing(p - joint_shoulder, angle) + joint_shoulder;
                n = swing(n, angle);
            }
            case 5u: { let way = vec2f(sin(in.pose.w), cos(in.pose.w)); p = turn(p, way); n = turn(n, way); }
            default: {}
        }
        // Feet stay where they are when the rest leans, unless it falls.
        let planted = in.role.x == 1u || in.role.x == 2u;
        let lean = select(-in.pose.y, -in.pose.y * smoothstep(0.8, 1.4, abs(in.pose.y)), planted);
        p = swing(p, lean);
        n = swing(n, lean);
    }
    p = turn(p, in.stand.xy) * vec3f(1.0, in.stand.z, 1.0) * in.place.w + in.place.xyz;
    n = turn(n, in.stand.xy);
    return Posed(p, n);
}

@vertex
fn vertex(in: BodyIn) -> BodyOut {
    let at = posed(in);
    // Instance colours are darkened by 200/255 in the mesh, so that faces can also be lighter than they.
    let own = select(in.color.rgb, in.accent.rgb, in.role.z == 1u);
    let instance = linear(min(own, vec3f(1.0))) * in.tint.rgb * in.tint.rgb * 1.6256;
    let albedo = mix(linear(in.tint.rgb), instance, in.tint.a);
    let glow = max(in.color.a, f32(in.role.y) / 255.0);
    return BodyOut(frame.clip_from_world * vec4f(at.position, 1.0), at.position, at.normal, vec4f(albedo, glow), in.accent.a);
}

@vertex
fn shadow_vertex(in: BodyIn) -> @builtin(position) vec4f {
    let at = posed(in);
    // What is half gone throws no shadow.
    let hidden = select(0.0, 9.0, in.accent.a < 0.5);
    return frame.shadow_from_world * vec4f(at.position, 1.0) + vec4f(0.0, 0.0, hidden, 0.0);
}

@fragment
fn fragment(in: BodyOut) -> @location(0) vec4f {
    if in.presence < 0.999 && scatter(in.clip.xy) >= in.presence {
        discard;
    }
    let facing = dot(in.normal, frame.sun_direction.xyz);
    var sun = max(facing, 0.0);
    if facing > 0.0 {
        sun *= sunlit(in.world, in.normal);
    }
    let towards_eye = normalize(frame.eye.xyz - in.world);
    let edge = 1.0 - clamp(dot(in.normal, towards_eye), 0.0, 1.0);
    let rim = edge * edge * edge;
    // Low parts see less of the sky: a little darkness near the ground ties things to it.
    let open = mix(0.68, 1.0, smoothstep(0.0, 0.22, in.world.y));
    let light = frame.sun.rgb * sun + ambient(in.normal) * open + frame.ambient_above.rgb * rim * 0.45;
    let color = in.albedo.rgb * (light + vec3f(in.albedo.a * 2.4));
    return covering(behind_air(color, in.world, in.clip.xy));
}
